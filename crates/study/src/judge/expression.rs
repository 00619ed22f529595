//! The measured quantity of a clause, in its notation: `plt(spdy_ssl) / plt(http_ssl)`,
//! `median(from(3150, 15150, plt(http_ssl on bandwidth)))`.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = factor { ("*" | "/") factor }
//! factor  = number | "-" factor | "(" sum ")" | function "(" sum { "," sum } ")" | leaf
//! leaf    = quantity [ "." statistic ] "(" arm [ "on" grid ] ")" | "published" "(" table ")"
//! ```

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;

use super::Statistic;
use scenario::choice;

choice! {
    /// A function of one or more expressions. A series has a number at each place of a grid.
    pub enum Function, "function" {
        /// `median(s)`: the median of a series over its places.
        Median = "median",
        /// `mean(s)`
        Mean = "mean",
        /// `min(s)`
        Min = "min",
        /// `max(s)`
        Max = "max",
        /// `at(x, s)`: a series' number at one x.
        At = "at",
        /// `from(a, b, s)`: the part of a series from a to b, both included.
        From = "from",
        /// `least(s, t, ...)`: the least, place by place.
        Least = "least",
        /// `abs(v)`
        Abs = "abs",
        /// `ln(v)`
        Ln = "ln",
        /// `slope(s)`: the slope of the line through a series.
        Slope = "slope",
        /// `r2(s)`: the share of a series' variance that the line explains.
        RSquared = "r2",
        /// `correlation(s, t)`: the rank correlation of two series, over their common places.
        Correlation = "correlation",
        /// `above(limit, s)`: the number of places with more than that.
        Above = "above",
        /// `share(low, high, s)`: the share of places, in per cent, with a number from low to high.
        Share = "share",
        /// `crossover(s, t)`: the x from which s stays below t; infinite if it does not.
        Crossover = "crossover",
        /// `crossovers(s, t)`: the same on each curve, over the fact that tells curves apart.
        Crossovers = "crossovers",
        /// `medians(s)`: the median of each curve, likewise.
        Medians = "medians",
        /// `means(s)`: the mean of each curve, likewise.
        Means = "means",
        /// `across(s)`: the mean of all curves, place by place.
        Across = "across",
        /// `along_log(s)`: the same series over the logarithm of its x.
        AlongLog = "along_log",
    }
    not_yet {}
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Expression {
    text: String,
    tree: Tree,
}

/// The syntax tree of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A number.
    Number(f64),
    /// A measured or published series.
    Leaf(Leaf),
    /// A binary operation.
    Binary(Operator, Box<Tree>, Box<Tree>),
    /// A function call.
    Call(Function, Vec<Tree>),
}

/// A given series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leaf {
    /// A quantity of an arm over a grid.
    Measured {
        /// The quantity, of each load.
        quantity: String,
        /// The statistic over each cell's loads; `None`: the study's own.
        statistic: Option<Statistic>,
        /// The arm, which selects cells.
        arm: String,
        /// The grid; `None`: the clause's.
        grid: Option<String>,
    },
    /// A table of the document.
    Published(String),
}

/// `+ - * /`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

impl Operator {
    /// Applies it.
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Operator::Plus => a + b,
            Operator::Minus => a - b,
            Operator::Times => a * b,
            Operator::Over => a / b,
        }
    }
}

impl Expression {
    /// The syntax tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The share that `of` saves of `against`, in per cent: the median over all positions.
    pub fn saved_percent(of: &Expression, against: &Expression) -> Result<Expression, String> {
        Expression::try_from(format!("100 * (1 - median(({of}) / ({against})))"))
    }

    /// True if it is a quotient, or a statistic of quotients.
    pub fn is_ratio(&self) -> bool {
        let mut tree = &self.tree;
        while let Tree::Call(_, arguments) = tree
            && let Some(last) = arguments.last()
        {
            tree = last;
        }
        matches!(tree, Tree::Binary(Operator::Over, ..))
    }

    /// The series that it uses.
    pub fn leaves(&self) -> BTreeSet<&Leaf> {
        let mut leaves = BTreeSet::new();
        collect(&self.tree, &mut leaves);
        leaves
    }
}

fn collect<'a>(tree: &'a Tree, leaves: &mut BTreeSet<&'a Leaf>) {
    match tree {
        Tree::Number(_) => {}
        Tree::Leaf(leaf) => {
            leaves.insert(leaf);
        }
        Tree::Binary(_, a, b) => [a, b].into_iter().for_each(|side| collect(side, leaves)),
        Tree::Call(_, arguments) => arguments.iter().for_each(|it| collect(it, leaves)),
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Expression {
    type Error = String;

    fn try_from(text: String) -> Result<Expression, String> {
        let mut parser = Parser { rest: &text, depth: 0 };
        let tree = parser.sum().map_err(|why| parser.blame(&text, &why))?;
        match parser.peek() {
            None => Ok(Expression { tree, text }),
            Some(_) => Err(parser.blame(&text, "nothing more may follow")),
        }
    }
}

/// Maximum nesting: deeper than anybody writes, and far from overflowing the stack.
const DEEPEST: u32 = 64;

struct Parser<'a> {
    rest: &'a str,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Result<Tree, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} expressions within each other"));
        }
        let mut tree = self.product()?;
        while let Some(operator) = self.sign([('+', Operator::Plus), ('-', Operator::Minus)]) {
            tree = Tree::Binary(operator, Box::new(tree), Box::new(self.product()?));
        }
        self.depth -= 1;
        Ok(tree)
    }

    fn product(&mut self) -> Result<Tree, String> {
        let mut tree = self.factor()?;
        while let Some(operator) = self.sign([('*', Operator::Times), ('/', Operator::Over)]) {
            tree = Tree::Binary(operator, Box::new(tree), Box::new(self.factor()?));
        }
        Ok(tree)
    }

    fn factor(&mut self) -> Result<Tree, String> {
        let negative = self.eat('-');
        let tree = match self.peek() {
            Some('(') => self.brackets(|parser| parser.sum())?,
            Some(c) if c.is_ascii_digit() => Tree::Number(self.number()?),
            Some(c) if c.is_ascii_alphabetic() => self.named()?,
            _ => return Err("a number, a quantity, a function or `(` must follow".to_owned()),
        };
        Ok(match negative {
            true => Tree::Binary(Operator::Minus, Box::new(Tree::Number(0.0)), Box::new(tree)),
            false => tree,
        })
    }

    /// A function's call, or a leaf.
    fn named(&mut self) -> Result<Tree, String> {
        let name = self.word()?;
        if name == "published" {
            let table = self.brackets(|parser| parser.word())?;
            return Ok(Tree::Leaf(Leaf::Published(table.to_owned())));
        }
        if let Ok(function) = name.parse::<Function>() {
            let arguments = self.brackets(Parser::arguments)?;
            return match function.takes(arguments.len()) {
                true => Ok(Tree::Call(function, arguments)),
                false => Err(format!("`{function}` does not take {} arguments", arguments.len())),
            };
        }
        let quantity = name.to_owned();
        let statistic = match self.eat('.') {
            true => Some(self.word()?.parse::<Statistic>().map_err(|error| error.to_string())?),
            false => None,
        };
        let (arm, grid) = self.brackets(Parser::arm)?;
        Ok(Tree::Leaf(Leaf::Measured { quantity, statistic, arm, grid }))
    }

    fn arguments(&mut self) -> Result<Vec<Tree>, String> {
        let mut arguments = vec![self.sum()?];
        while self.eat(',') {
            arguments.push(self.sum()?);
        }
        Ok(arguments)
    }

    /// `arm` or `arm on grid`.
    fn arm(&mut self) -> Result<(String, Option<String>), String> {
        let arm = self.word()?.to_owned();
        if self.peek() == Some(')') {
            return Ok((arm, None));
        }
        match self.word()? {
            "on" => Ok((arm, Some(self.word()?.to_owned()))),
            other => Err(format!("after an arm `on` and a grid may follow, not `{other}`")),
        }
    }

    fn brackets<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        if !self.eat('(') {
            return Err("`(` must follow".to_owned());
        }
        let value = inner(self)?;
        match self.eat(')') {
            true => Ok(value),
            false => Err("`)` must follow".to_owned()),
        }
    }

    fn number(&mut self) -> Result<f64, String> {
        let text = self.take(|c| c.is_ascii_digit() || c == '.');
        text.parse().map_err(|_| format!("`{text}` is no number"))
    }

    fn word(&mut self) -> Result<&'a str, String> {
        self.peek();
        match self.take(|c| c.is_ascii_alphanumeric() || c == '_') {
            "" => Err("a name must follow".to_owned()),
            word => Ok(word),
        }
    }

    fn sign(&mut self, signs: [(char, Operator); 2]) -> Option<Operator> {
        signs.into_iter().find(|(sign, _)| self.eat(*sign)).map(|(_, operator)| operator)
    }

    fn eat(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        is_next
    }

    /// The next character that is not a space.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn blame(&self, text: &str, why: &str) -> String {
        let read = &text[..text.len() - self.rest.len()];
        format!("`{text}`: after `{}`: {why}", read.trim_end())
    }
}

impl Function {
    /// True if it accepts this many arguments.
    fn takes(self, count: usize) -> bool {
        match self {
            Function::At
            | Function::Above
            | Function::Correlation
            | Function::Crossover
            | Function::Crossovers => count == 2,
            Function::From | Function::Share => count == 3,
            Function::Least => count >= 2,
            _ => count == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Expression, String> {
        Expression::try_from(text.to_owned())
    }

    fn plt(arm: &str) -> Tree {
        Tree::Leaf(Leaf::Measured {
            quantity: "plt".to_owned(),
            statistic: None,
            arm: arm.to_owned(),
            grid: None,
        })
    }

    #[test]
    fn products_bind_closer_than_sums() {
        let tree = read("plt(a) - 2 * plt(b)").unwrap().tree;
        let product =
            Tree::Binary(Operator::Times, Box::new(Tree::Number(2.0)), Box::new(plt("b")));
        assert_eq!(tree, Tree::Binary(Operator::Minus, Box::new(plt("a")), Box::new(product)));
        let grouped = read("(plt(a) - 2) * plt(b)").unwrap().tree;
        assert!(matches!(grouped, Tree::Binary(Operator::Times, ..)));
        assert!(matches!(read("-plt(a)").unwrap().tree, Tree::Binary(Operator::Minus, ..)));
    }

    #[test]
    fn leaves_name_statistic_arm_and_grid() {
        let expression =
            read("median(from(50, 100, plt.ci(http on rtt)) / published(c1))").unwrap();
        let measured = Leaf::Measured {
            quantity: "plt".to_owned(),
            statistic: Some(Statistic::RelativeInterval),
            arm: "http".to_owned(),
            grid: Some("rtt".to_owned()),
        };
        let published = Leaf::Published("c1".to_owned());
        assert_eq!(expression.leaves(), BTreeSet::from([&measured, &published]));
        assert!(expression.to_string().starts_with("median("));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let refusal = |text: &str| read(text).unwrap_err();
        assert_eq!(
            refusal("plt(a) +"),
            "`plt(a) +`: after `plt(a) +`: a number, a quantity, a function or `(` must follow"
        );
        assert!(refusal("plt(a) plt(b)").ends_with("after `plt(a)`: nothing more may follow"));
        assert!(refusal("plt.men(a)").contains("`men`"));
        assert!(refusal("at(plt(a))").contains("`at` does not take 1 arguments"));
        assert!(refusal("plt(a in b)").contains("not `in`"));
        assert!(refusal("plt(a").contains("a name must follow"));
        assert!(refusal(&"(".repeat(200)).contains("within each other"));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in "[a-z0-9 ().,+*/-]{0,40}|\\PC{0,20}") {
            let _ = read(&text);
        }
    }
}
