//! The options of `uwf serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use uwf_web::Host;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Listen at this address of this machine; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8930", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Let visitors look only
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Take the token from this file (unset: a new one for each server)
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Answer also to this host, as a browser sends it; may be repeated
    #[arg(long = "allow-host", value_name = "HOST:PORT")]
    pub(crate) allowed_hosts: Vec<Host>,
    /// A reverse proxy stands before the server, and encrypts: then it may listen at any address
    #[arg(long, requires = "public_url")]
    pub(crate) behind_proxy: bool,
    /// The address of that proxy, as browsers open it
    #[arg(long, value_name = "URL", requires = "behind_proxy")]
    pub(crate) public_url: Option<String>,
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let wrong = |_| "write an IP address and a port: `127.0.0.1:8930`";
    text.parse().map_err(wrong)
}
