//! The rules of the fleet, the very files of the product, built by themselves: what they need is all that they get, and
//! the simulation plays them with a build that is optimised.

#[path = "../../src"]
mod src {
    pub mod fleet;
}

pub use src::fleet;
