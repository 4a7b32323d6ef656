//! Large graphs: each has a layout soon, or an error at once.

use uwf_layout::{LayoutError, layout};

use crate::common::{graph, mistakes};

/// Returns edges between nodes that look random and are always the same.
fn scattered(nodes: usize, count: usize) -> Vec<(usize, usize, u16)> {
    let mut seed = 42_u64;
    let mut next = |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap_or(0) % below
    };
    let mut edges: Vec<_> = (1..nodes).map(|node| (next(node), node, 40)).collect();
    while edges.len() < count {
        edges.push((next(nodes), next(nodes), 60));
    }
    edges
}

#[test]
fn a_graph_of_300_nodes_and_800_edges_has_a_layout() {
    let layout = layout(&graph(300, &scattered(300, 800))).unwrap();
    assert_eq!((layout.nodes.len(), layout.edges.len()), (300, 800));
}

#[test]
fn nothing_overlaps_in_a_large_graph() {
    let graph = graph(90, &scattered(90, 200));
    let layout = layout(&graph).unwrap();
    assert_eq!(mistakes(&graph, &layout), Vec::<String>::new());
}

#[test]
fn a_long_chain_has_a_layout() {
    let edges: Vec<_> = (1..5_000).map(|node| (node - 1, node, 0)).collect();
    assert_eq!(layout(&graph(5_000, &edges)).unwrap().nodes.len(), 5_000);
}

#[test]
fn a_graph_with_too_many_long_edges_is_refused() {
    let count = 600;
    let mut edges: Vec<_> = (1..count).map(|node| (node - 1, node, 0)).collect();
    edges.extend((2..count).map(|node| (0, node, 0)));
    assert_eq!(layout(&graph(count, &edges)), Err(LayoutError::TooLarge));
}
