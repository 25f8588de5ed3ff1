//! What a token makes of a caller: the check of a request's Authorization header, and what follows from it.
//!
//! Pure. In loopback-trust mode nothing here is asked, and an Authorization header says nothing. No 401 is ever
//! answered: agents take one as an invitation to log in. Where the token comes from is `config`'s matter.

use axum::http::{HeaderMap, header};

use super::peer::Doubt;
use crate::config::Token;
use crate::fleet::caller::Caller;

/// How a token is given, for whoever came without.
pub const HOW: &str = "send it as the header Authorization: Bearer TOKEN; fleetd's own commands take it from \
                       --token-file FILE or from the variable FLEETD_TOKEN";

const NONE: &str = "this fleetd wants a token, and the request has none";
const WRONG: &str = "this fleetd wants a token, and the request has a wrong one";

/// What a request proves by its Authorization header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It has no such header.
    None,
    /// It has the token.
    Valid,
    /// It has something else, or the header twice.
    Wrong,
}

/// Returns what the headers prove.
pub fn proof(headers: &HeaderMap, token: &Token) -> Proof {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), more) = (sent.next(), sent.next()) else { return Proof::None };
    let bearer = value.as_bytes().split_at_checked(7).filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "));
    match bearer {
        Some((_, text)) if more.is_none() && token.matches(text.trim_ascii()) => Proof::Valid,
        _ => Proof::Wrong,
    }
}

/// Returns who is calling, by what the connection shows and the request proves.
///
/// A worker is a worker and needs no token. What is or may be a worker's process gets nothing by one: it runs as our
/// user, and so can read the token. For everybody else the token decides alone, wherever they are.
pub fn by_token(shown: Caller, proof: Proof) -> Caller {
    let may_be_a_worker = [Doubt::Shared, Doubt::Stray, Doubt::Broken].map(Caller::from);
    if matches!(shown, Caller::Worker { .. }) || may_be_a_worker.contains(&shown) {
        return shown;
    }
    match (proof, shown) {
        // Who holds the seat on this machine stays the leader. A seat that is held by the token alone comes in here.
        (Proof::Valid, Caller::Leader) => Caller::Leader,
        (Proof::Valid, _) => Caller::Operator,
        (Proof::None, _) => Caller::Anonymous { why: NONE.into() },
        (Proof::Wrong, _) => Caller::Anonymous { why: WRONG.into() },
    }
}

/// Returns whether a caller would be somebody with the token.
pub fn lacks_token(caller: &Caller) -> bool {
    matches!(caller, Caller::Anonymous { why } if why == NONE || why == WRONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn proved(sent: &[&str]) -> Proof {
        let token = Token::of(TOKEN).unwrap();
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        proof(&headers, &token)
    }

    #[test]
    fn only_one_header_with_the_whole_token_is_a_proof() {
        let good = format!("Bearer {TOKEN}");
        assert_eq!(proved(&[]), Proof::None);
        assert_eq!(proved(&[&good]), Proof::Valid);
        assert_eq!(proved(&[&format!("bearer  {TOKEN} ")]), Proof::Valid);
        for wrong in ["", "Bearer", "Bearer ", TOKEN, &good[..good.len() - 1], &format!("{good}x"), "Basic eDp5"] {
            assert_eq!(proved(&[wrong]), Proof::Wrong, "{wrong}");
        }
        assert_eq!(proved(&[&format!("Basic {TOKEN}")]), Proof::Wrong);
        assert_eq!(proved(&[&good, &good]), Proof::Wrong, "which of them would count?");
        assert_eq!(proved(&[&good, "Bearer x"]), Proof::Wrong);
    }

    #[test]
    fn the_token_decides_for_all_but_workers() {
        let worker = Caller::Worker { name: "w-1".into(), via_child: true };
        for proof in [Proof::None, Proof::Valid, Proof::Wrong] {
            assert_eq!(by_token(worker.clone(), proof), worker);
            for doubt in [Doubt::Shared, Doubt::Stray, Doubt::Broken] {
                assert_eq!(by_token(doubt.into(), proof), Caller::from(doubt), "{proof:?}");
            }
        }
        let others = [Caller::Operator, Doubt::NotFound.into(), Doubt::OtherUser.into(), Doubt::Proxied.into()];
        for shown in others {
            assert_eq!(by_token(shown.clone(), Proof::Valid), Caller::Operator, "{shown:?}");
            for proof in [Proof::None, Proof::Wrong] {
                assert!(lacks_token(&by_token(shown.clone(), proof)), "{shown:?} {proof:?}");
            }
        }
        assert_eq!(by_token(Caller::Leader, Proof::Valid), Caller::Leader);
        assert!(lacks_token(&by_token(Caller::Leader, Proof::None)));
        assert!(!lacks_token(&Doubt::Stray.into()) && !lacks_token(&worker));
    }
}
