//! The dependency tree of a connection's requests, and its part that has not been sent.

use std::cell::RefCell;
use std::rc::Rc;

use super::dependencies::{Dependencies, Shape};
use super::groups;
use super::prioritised::Unsaid;
use crate::Precedence;

/// The dependencies of requests. Clones share them.
#[derive(Clone)]
pub(super) struct Tree {
    shape: Shape,
    dependencies: Rc<RefCell<Dependencies>>,
    pub(super) unsaid: Unsaid,
}

impl Tree {
    pub(super) fn new(shape: Shape) -> Tree {
        let dependencies = Rc::new(RefCell::new(Dependencies::new(shape)));
        Tree { shape, dependencies, unsaid: Rc::default() }
    }

    /// The frames to send before the first request.
    pub(super) fn introduction(&self) -> Vec<u8> {
        match self.shape {
            Shape::Groups => groups::frames(),
            Shape::Chain | Shape::Flat => Vec::new(),
        }
    }

    /// Adds the request on `stream`; it keeps its place in the tree until the returned branch is dropped.
    pub(super) fn open(&self, stream: u32, precedence: Precedence) -> Branch {
        let dependency = self.dependencies.borrow_mut().open(stream, precedence);
        self.unsaid.borrow_mut().insert(stream, dependency);
        Branch { tree: self.clone(), stream }
    }
}

/// A request's place in the tree.
pub(super) struct Branch {
    tree: Tree,
    stream: u32,
}

impl Drop for Branch {
    fn drop(&mut self) {
        self.tree.dependencies.borrow_mut().close(self.stream);
        self.tree.unsaid.borrow_mut().remove(&self.stream);
    }
}
