//! Turns the edges that close loops.
//!
//! In each strongly connected part, the node nearest to the start is the head. The edges of the part that lead to its head
//! are turned, which opens its loops. What is left without the head may have further loops, and is treated in the same way.

use std::collections::VecDeque;

use crate::Graph;

/// An edge between two nodes as the drawing uses it: it runs down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// The upper node.
    pub(crate) upper: usize,
    /// The lower node.
    pub(crate) lower: usize,
    /// The edge of the graph.
    pub(crate) edge: usize,
    /// Whether the edge leads from the lower node to the upper one.
    pub(crate) turned: bool,
}

/// Returns the edges between two nodes, turned where needed, so that they form no loop.
pub(crate) fn links(graph: &Graph) -> Vec<Link> {
    let distances = distances(graph);
    let mut part_of: Vec<usize> = vec![0; graph.nodes.len()];
    let mut turned = vec![false; graph.edges.len()];
    // Every turn of the loop removes a head from each part that still has loops.
    let mut left: Vec<usize> = inner_edges(graph, (0..graph.edges.len()).collect(), &mut part_of);
    while !left.is_empty() {
        let heads = heads(graph, &left, &part_of, &distances);
        for edge in &left {
            let to = graph.edges[*edge].to;
            if heads[part_of[to]] == Some(to) {
                turned[*edge] = true;
            }
        }
        let is_head = |node: usize| heads[part_of[node]] == Some(node);
        left.retain(|edge| {
            let edge = graph.edges[*edge];
            !is_head(edge.from) && !is_head(edge.to)
        });
        left = inner_edges(graph, left, &mut part_of);
    }
    let edges = graph.edges.iter().enumerate();
    edges
        .filter(|(_, edge)| edge.from != edge.to)
        .map(|(index, edge)| {
            let (upper, lower) = match turned[index] {
                true => (edge.to, edge.from),
                false => (edge.from, edge.to),
            };
            Link {
                upper,
                lower,
                edge: index,
                turned: turned[index],
            }
        })
        .collect()
}

/// Returns how many edges lead from the start to each node.
fn distances(graph: &Graph) -> Vec<usize> {
    let mut next_of = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        next_of[edge.from].push(edge.to);
    }
    let mut distances = vec![usize::MAX; graph.nodes.len()];
    let mut queue = VecDeque::new();
    if let Some(distance) = distances.get_mut(graph.start) {
        *distance = 0;
        queue.push_back(graph.start);
    }
    while let Some(node) = queue.pop_front() {
        for next in &next_of[node] {
            if distances[*next] == usize::MAX {
                distances[*next] = distances[node] + 1;
                queue.push_back(*next);
            }
        }
    }
    distances
}

/// Returns the head of each part that has edges.
fn heads(
    graph: &Graph,
    edges: &[usize],
    part_of: &[usize],
    distances: &[usize],
) -> Vec<Option<usize>> {
    let mut heads: Vec<Option<usize>> = vec![None; graph.nodes.len()];
    for edge in edges {
        let node = graph.edges[*edge].to;
        let head = &mut heads[part_of[node]];
        let is_nearer =
            head.is_none_or(|known| (distances[node], node) < (distances[known], known));
        if is_nearer {
            *head = Some(node);
        }
    }
    heads
}

/// Numbers the strongly connected parts of the graph with these edges, and returns the edges within a part.
fn inner_edges(graph: &Graph, edges: Vec<usize>, part_of: &mut [usize]) -> Vec<usize> {
    let mut next_of = vec![Vec::new(); graph.nodes.len()];
    for edge in &edges {
        let edge = graph.edges[*edge];
        if edge.from != edge.to {
            next_of[edge.from].push(edge.to);
        }
    }
    let mut search = Search::new(next_of);
    for node in 0..graph.nodes.len() {
        search.visit(node);
    }
    part_of.copy_from_slice(&search.part_of);
    let is_inner = |edge: &usize| {
        let edge = graph.edges[*edge];
        edge.from != edge.to && part_of[edge.from] == part_of[edge.to]
    };
    edges.into_iter().filter(is_inner).collect()
}

/// Tarjan's search for strongly connected parts, without recursion: a chain of thousands of nodes is allowed.
struct Search {
    next_of: Vec<Vec<usize>>,
    /// When a node was found; 0 is never.
    found: Vec<usize>,
    /// The earliest node that a node reaches within its part.
    lowest: Vec<usize>,
    is_open: Vec<bool>,
    open: Vec<usize>,
    part_of: Vec<usize>,
    clock: usize,
}

impl Search {
    fn new(next_of: Vec<Vec<usize>>) -> Self {
        let count = next_of.len();
        Self {
            next_of,
            found: vec![0; count],
            lowest: vec![0; count],
            is_open: vec![false; count],
            open: Vec::new(),
            part_of: vec![0; count],
            clock: 0,
        }
    }

    fn visit(&mut self, root: usize) {
        if self.found[root] != 0 {
            return;
        }
        self.find(root);
        let mut path = vec![(root, 0)];
        while let Some((node, at)) = path.last_mut() {
            let (node, next) = (*node, self.next_of[*node].get(*at).copied());
            *at += 1;
            match next {
                Some(next) if self.found[next] == 0 => {
                    self.find(next);
                    path.push((next, 0));
                }
                Some(next) => {
                    if self.is_open[next] {
                        self.lowest[node] = self.lowest[node].min(self.found[next]);
                    }
                }
                None => {
                    path.pop();
                    if let Some((parent, _)) = path.last() {
                        self.lowest[*parent] = self.lowest[*parent].min(self.lowest[node]);
                    }
                    self.close(node);
                }
            }
        }
    }

    fn find(&mut self, node: usize) {
        self.clock += 1;
        self.found[node] = self.clock;
        self.lowest[node] = self.clock;
        self.is_open[node] = true;
        self.open.push(node);
    }

    /// Takes the part of a node off the stack if the node is the first of its part. The part gets the number of that node.
    fn close(&mut self, first: usize) {
        if self.lowest[first] != self.found[first] {
            return;
        }
        while let Some(node) = self.open.pop() {
            self.is_open[node] = false;
            self.part_of[node] = first;
            if node == first {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edge, Size};

    fn turned(count: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let graph = Graph {
            nodes: vec![Size::default(); count],
            edges: edges
                .iter()
                .map(|(from, to)| Edge {
                    from: *from,
                    to: *to,
                    label: None,
                })
                .collect(),
            start: 0,
        };
        let links = links(&graph);
        let turned = links.iter().filter(|link| link.turned);
        turned.map(|link| (link.lower, link.upper)).collect()
    }

    #[test]
    fn a_graph_without_loops_is_left_alone() {
        assert_eq!(turned(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]), []);
    }

    #[test]
    fn a_loop_returns_to_the_node_nearest_to_the_start() {
        let edges = [(0, 3), (3, 1), (1, 2), (2, 3)];
        assert_eq!(turned(4, &edges), [(2, 3)]);
    }

    #[test]
    fn a_loop_within_a_loop_has_a_head_of_its_own() {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 2), (3, 1)];
        assert_eq!(turned(4, &edges), [(3, 2), (3, 1)]);
    }

    #[test]
    fn an_edge_of_a_node_to_itself_is_no_link() {
        let edges = [(0, 0), (0, 1), (1, 1)];
        assert_eq!(turned(2, &edges), []);
    }
}
