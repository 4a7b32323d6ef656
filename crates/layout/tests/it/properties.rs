//! What holds for the layout of every graph.

use proptest::prelude::*;
use uwf_layout::{LayoutError, Piece, layout};

use crate::common::{graph, mistakes};

/// Any graph: with loops, parallel edges, edges from a node to itself, and nodes that nothing leads to.
fn any_graph() -> impl Strategy<Value = (usize, Vec<(usize, usize, u16)>)> {
    (1_usize..60).prop_flat_map(|nodes| {
        let label = prop_oneof![Just(0_u16), 10_u16..160];
        let edges = proptest::collection::vec((0..nodes, 0..nodes, label), 0..120);
        (Just(nodes), edges)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_overlaps_and_every_edge_connects_its_nodes((nodes, edges) in any_graph()) {
        let graph = graph(nodes, &edges);
        let layout = layout(&graph).unwrap();
        prop_assert_eq!(mistakes(&graph, &layout), Vec::<String>::new());
    }

    #[test]
    fn the_same_graph_has_the_same_layout((nodes, edges) in any_graph()) {
        let graph = graph(nodes, &edges);
        prop_assert_eq!(layout(&graph), layout(&graph));
    }
}

#[test]
fn edges_run_down_and_the_one_that_closes_a_loop_runs_up() {
    let graph = graph(4, &[(0, 1, 0), (1, 2, 40), (2, 1, 40), (2, 3, 0)]);
    let layout = layout(&graph).unwrap();
    let tops: Vec<f64> = layout.nodes.iter().map(|node| node.y).collect();
    assert!(tops.is_sorted(), "{tops:?}");
    let back = &layout.edges[2];
    assert!(back.start.y > back.pieces.last().unwrap().end().y);
}

#[test]
fn a_chain_is_one_straight_line() {
    let graph = graph(4, &[(0, 1, 0), (1, 2, 60), (2, 3, 0)]);
    let layout = layout(&graph).unwrap();
    let middles: Vec<f64> = layout.nodes.iter().map(|node| node.center().x).collect();
    assert!(middles.iter().all(|x| *x == middles[0]), "{middles:?}");
}

#[test]
fn a_long_edge_is_straight_between_its_ends() {
    let mut edges: Vec<_> = (1..9).map(|node| (node - 1, node, 70)).collect();
    edges.push((8, 1, 50));
    edges.push((0, 8, 50));
    let graph = graph(9, &edges);
    let layout = layout(&graph).unwrap();
    for long in &layout.edges[8..] {
        let curves = long
            .pieces
            .iter()
            .filter(|piece| matches!(piece, Piece::Curve(..)));
        assert!(curves.count() <= 2, "{long:?}");
    }
}

#[test]
fn edges_that_need_not_cross_do_not() {
    // A binary tree, whose edges come in an order that crosses them.
    let edges = [
        (0, 2, 20),
        (0, 1, 20),
        (1, 6, 20),
        (2, 5, 20),
        (1, 4, 20),
        (2, 3, 20),
    ];
    let graph = graph(7, &edges);
    let layout = layout(&graph).unwrap();
    let x = |node: usize| layout.nodes[node].center().x;
    let is_left = x(1) < x(2);
    for (child, other) in [(4, 3), (4, 5), (6, 3), (6, 5)] {
        assert_eq!(x(child) < x(other), is_left);
    }
}

#[test]
fn a_graph_without_edges_or_without_nodes_has_a_layout() {
    assert_eq!(layout(&graph(0, &[])).unwrap().nodes, []);
    assert_eq!(layout(&graph(3, &[])).unwrap().nodes.len(), 3);
}

#[test]
fn an_edge_to_a_node_that_does_not_exist_is_an_error() {
    assert_eq!(layout(&graph(2, &[(0, 2, 0)])), Err(LayoutError::NoNode(2)));
}
