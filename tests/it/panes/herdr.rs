//! herdr as a pane host: the contract against `herdr-sim`, and against the real server where `HERDR_BIN` names it; and
//! what can only happen to herdr: people move and rename, servers are replaced in mid-use, streams are lost.

mod people;
mod rig;
mod trouble;

mod sim {
    //! The contract against herdr-sim.
    crate::panes::contract::contract!(super::rig::HerdrRig<super::rig::Sim>);
}

mod real {
    //! The contract against the real server.
    crate::panes::contract::contract!(super::rig::HerdrRig<super::rig::Real>);
}
