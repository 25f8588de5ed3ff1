//! The programs that tests start, as parts that tests can also use by themselves: `agent` is a program as people type
//! into it, `sim` a herdr with the habits that were seen on the real one. Nothing of the product is used here: what it
//! must get along with is not made of its own code.

pub mod agent;
pub mod sim;
