//! Which names the admin listener may be asked for by. A page that has rebound a name of
//! its own to this machine (DNS rebinding) asks by that name, and is not answered.

use std::net::{Ipv4Addr, Ipv6Addr};

use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::http::uri::Authority;

use crate::protocol::is_host_and_port;

/// Answered besides addresses and the names of `--admin-host`.
const LOCALHOST: &str = "localhost";

/// The names.
#[derive(Debug)]
pub struct Hosts {
    names: Vec<String>,
}

impl Hosts {
    /// These names, in small letters, besides addresses and `localhost`.
    pub fn new(names: &[String]) -> Self {
        let names = names.iter().cloned().chain([LOCALHOST.to_owned()]);
        Self {
            names: names.collect(),
        }
    }

    /// Is this request for a name that nobody else can have: in its one `Host` header, and in its
    /// target, if that names a host too?
    pub fn may_ask(&self, head: &Parts) -> bool {
        let mut hosts = head.headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return false;
        };
        let of_target = head.uri.authority();
        host.to_str()
            .ok()
            .and_then(|host| host.parse().ok())
            .is_some_and(|host| self.is_ours(&host))
            && of_target.is_none_or(|host| self.is_ours(host))
    }

    fn is_ours(&self, authority: &Authority) -> bool {
        let host = authority.host();
        let v6 = host.strip_prefix('[').and_then(|v6| v6.strip_suffix(']'));
        let is_address = match v6 {
            Some(v6) => v6.parse::<Ipv6Addr>().is_ok(),
            None => host.parse::<Ipv4Addr>().is_ok(),
        };
        is_host_and_port(authority)
            && (is_address
                || self
                    .names
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(host)))
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn may_ask(target: &str, hosts: &[&str]) -> bool {
        let mut request = Request::builder().uri(target);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let names = Hosts::new(&["status.example.com".to_owned()]);
        names.may_ask(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn addresses_localhost_and_given_names() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:8788",
            "192.0.2.1:1",
            "[::1]",
            "[2001:db8::1]:8788",
            "localhost",
            "LocalHost:8788",
            "status.example.com",
            "Status.Example.Com:443",
        ] {
            assert!(may_ask("/", &[host]), "{host}");
        }
    }

    #[test]
    fn no_name_that_somebody_could_have_rebound() {
        for hosts in [
            &[][..],
            &[""],
            &["evil.example"],
            &["evil.example:8788"],
            &["localhost.evil.example"],
            &["127.0.0.1.evil.example"],
            &["x.status.example.com"],
            &["status.example.com."],
            &["127.1"],
            &["2130706433"],
            &["::1"],
            &["[::1].evil.example"],
            &["[::1].evil.example:80"],
            &["localhost80"],
            &["localhost@evil.example"],
            &["evil.example@localhost"],
            &["localhost", "localhost"],
            &["localhost", "evil.example"],
        ] {
            assert!(!may_ask("/", hosts), "{hosts:?}");
        }
        assert!(may_ask("http://127.0.0.1:8788/", &["localhost"]));
        assert!(!may_ask("http://evil.example/", &["localhost"]));
    }
}
