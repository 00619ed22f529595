//! The native half of the Python package `farlink`: plans, runs and their tables.
//!
//! It holds what needs farlink's own code and nothing else; names, defaults, progress bars and plots are Python
//! (`packaging/python/src/farlink`). Python's lock is released while journeys are simulated.

#![deny(unsafe_code)]

mod compare;
mod emulated;
mod failure;
mod plan;
mod results;
mod run;
mod settings;
mod stores;
mod table;

/// As the command line's: a journey's memory is used again rather than given back to the kernel.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Functions and classes that the Python half builds on.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::compare::{compare, median_interval};
    #[pymodule_export]
    use crate::failure::FarlinkError;
    #[pymodule_export]
    use crate::plan::{Plan, check_network, check_page, duration_ns, size_bytes};
    #[pymodule_export]
    use crate::results::{Run, merge, open, table_names};
    #[pymodule_export]
    use crate::settings::settings;
    #[pymodule_export]
    use crate::table::Table;

    /// Version of farlink.
    #[pymodule_export]
    const VERSION: &str = scenario::VERSION;
}
