//! A graph as a picture: what its nodes and edges say and look like. `uwf_layout` draws it.
//!
//! `$SUSPEND` is drawn once for each role that may suspend the thread, because the thread waits at that role and goes on from
//! there.

use std::collections::HashMap;

use uwf_engine::{GraphEdge, GraphNode, GraphPlayer, GraphView, NodeKind, Standing};
use uwf_layout::LayoutError;
use uwf_layout::svg::{
    Link, Look, Panel, Picture, PictureEdge, PictureNode, Shape, Sheet, Stroke, draw,
};
use uwf_util::text::{counted, cut};

use super::{heading, label, shown, thread_lines, times, was_taken, when, word};

/// The longest text of a node, in characters.
const NODE_TEXT: usize = 28;
/// The longest label of an edge.
const LABEL_TEXT: usize = 24;
/// The longest text of a goal, which is shown when somebody points at its role.
const GOAL_TEXT: usize = 300;
/// The longest line of the caption.
const CAPTION_TEXT: usize = 80;

/// Draws a graph as a picture that needs nothing else.
///
/// # Errors
/// When the graph is too large.
pub fn svg(view: &GraphView) -> Result<String, LayoutError> {
    draw(&picture(view), Sheet::Inside)
}

/// Draws a graph as a picture in a page, which has the [rules](super::STYLE_SHEET) for it and says elsewhere what it is about.
/// `link` tells where a node of the graph leads.
///
/// # Errors
/// When the graph is too large.
pub fn linked_svg(
    view: &GraphView,
    link: &dyn Fn(&GraphNode) -> Option<String>,
) -> Result<String, LayoutError> {
    let mut picture = picture(view);
    picture.caption.clear();
    let nodes = view.nodes.iter().filter(|node| is_one_node(node));
    for (drawn, node) in picture.nodes.iter_mut().zip(nodes) {
        drawn.link = link(node).map(|target| Link {
            target,
            name: link_name(&drawn.text, node),
        });
    }
    draw(&picture, Sheet::OfPage)
}

/// Returns what the link of a node is called.
fn link_name(text: &str, node: &GraphNode) -> String {
    let visits = node.visits.filter(|visits| *visits > 0);
    let visits = visits.map(|visits| counted(visits, "visit"));
    let standing = node.standing.map(|standing| word(standing).to_owned());
    let parts = [Some(text.to_owned()), visits, standing];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns whether a node is drawn once. `$SUSPEND` is not.
fn is_one_node(node: &GraphNode) -> bool {
    node.kind != NodeKind::Suspend
}

/// Returns what is drawn.
fn picture(view: &GraphView) -> Picture {
    let title = format!("Workflow {}", shown(&view.name));
    let lines = view.thread.as_ref().map(thread_lines).unwrap_or_default();
    let about_thread: Vec<String> = lines.iter().map(|line| shown(line)).collect();
    let caption = std::iter::once(shown(&view.name)).chain(about_thread.clone());
    let Content { nodes, edges } = content(&view.nodes, &view.edges);
    Picture {
        description: description(view, &about_thread),
        caption: caption
            .map(|line| cut(&line, CAPTION_TEXT).into_owned())
            .collect(),
        title,
        nodes,
        edges,
        start: 0,
    }
}

/// What is drawn of a graph.
struct Content {
    nodes: Vec<PictureNode>,
    edges: Vec<PictureEdge>,
}

fn content(nodes: &[GraphNode], edges: &[GraphEdge]) -> Content {
    let mut drawn = Content {
        nodes: Vec::new(),
        edges: Vec::new(),
    };
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for node in nodes.iter().filter(|node| is_one_node(node)) {
        numbers.insert(&node.name, drawn.nodes.len());
        drawn.nodes.push(picture_node(node));
    }
    let mut suspensions: HashMap<&str, usize> = HashMap::new();
    for edge in edges {
        let Some(from) = numbers.get(&*edge.from) else {
            continue;
        };
        let to = numbers.get(&*edge.to).copied().unwrap_or_else(|| {
            *suspensions.entry(&edge.from).or_insert_with(|| {
                drawn.nodes.push(suspension(edges, edge));
                drawn.nodes.len() - 1
            })
        });
        drawn.edges.push(PictureEdge {
            from: *from,
            to,
            text: cut(&label(edges, edge), LABEL_TEXT).into_owned(),
            tooltip: edge_tooltip(edges, edge),
            stroke: match was_taken(edge) {
                true => Stroke::Taken,
                false => Stroke::Plain,
            },
        });
    }
    drawn
}

fn panel(player: &GraphPlayer) -> Panel {
    let Content { nodes, edges } = content(&player.nodes, &player.edges);
    Panel {
        text: cut(&heading(player), NODE_TEXT).into_owned(),
        nodes,
        edges,
        start: 0,
    }
}

fn picture_node(node: &GraphNode) -> PictureNode {
    let visits = node.visits.unwrap_or(0);
    let standing = node.standing.map(|standing| word(standing).to_owned());
    let is_visited = visits > 0 && node.kind == NodeKind::Role;
    let told = [
        Some(shown(&node.name)),
        Some(shown(&node.description)),
        Some(cut(&shown(&node.goal), GOAL_TEXT).into_owned()),
        is_visited.then(|| counted(usize::try_from(visits).unwrap_or(usize::MAX), "visit")),
        standing,
    ];
    let told = told.into_iter().flatten().filter(|text| !text.is_empty());
    PictureNode {
        text: cut(&shown(&node.name), NODE_TEXT).into_owned(),
        tooltip: told.collect::<Vec<_>>().join("\n"),
        shape: match node.kind {
            NodeKind::Role => Shape::Box,
            NodeKind::Start | NodeKind::End | NodeKind::Suspend => Shape::Pill,
        },
        look: match node.standing {
            Some(Standing::Next | Standing::Running) => Look::Current,
            Some(Standing::Waiting) => Look::Waiting,
            Some(Standing::Failed | Standing::Blocked) => Look::Failed,
            Some(Standing::Done) => Look::Visited,
            None if visits > 0 => Look::Visited,
            None => Look::Plain,
        },
        badge: (visits > 1 && node.kind == NodeKind::Role).then(|| visits.to_string()),
        link: None,
        panels: node.played_by.iter().map(panel).collect(),
    }
}

/// Returns the node for the suspensions by the role that an edge leaves.
fn suspension(edges: &[GraphEdge], edge: &GraphEdge) -> PictureNode {
    let all = edges
        .iter()
        .filter(|other| (&other.from, &other.to) == (&edge.from, &edge.to));
    PictureNode {
        text: cut(&shown(&edge.to), NODE_TEXT).into_owned(),
        tooltip: format!("{} waits for a person", shown(&edge.from)),
        shape: Shape::Pill,
        look: match all.clone().any(was_taken) {
            true => Look::Visited,
            false => Look::Plain,
        },
        badge: None,
        link: None,
        panels: Vec::new(),
    }
}

fn edge_tooltip(edges: &[GraphEdge], edge: &GraphEdge) -> String {
    let ends = format!("{} → {}", shown(&edge.from), shown(&edge.to));
    let when = Some(shown(&when(edges, edge))).filter(|when| !when.is_empty());
    let expression = edge.expression.as_deref().map(shown);
    let taken = edge.taken.filter(|taken| *taken > 0);
    let taken = taken.map(|taken| format!("taken {}", times(taken)));
    let lines = [Some(ends), when, expression, taken];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Returns the description of the picture for people who do not see it.
fn description(view: &GraphView, about_thread: &[String]) -> String {
    let mut sentences: Vec<String> = Some(shown(&view.description))
        .filter(|text| !text.is_empty())
        .into_iter()
        .collect();
    sentences.extend_from_slice(about_thread);
    sentences.extend(ways(&view.nodes, &view.edges));
    sentences.join(".\n")
}

/// Returns sentences about the graph: the edges of each node, where a thread stands, and the graphs inside of nodes.
fn ways(nodes: &[GraphNode], edges: &[GraphEdge]) -> Vec<String> {
    let mut sentences = Vec::new();
    for node in nodes {
        let own = edges.iter().filter(|edge| edge.from == node.name);
        let ways = own.map(|edge| {
            let when = match when(edges, edge) {
                when if when.is_empty() => String::new(),
                when => format!("{}: ", shown(&when)),
            };
            let taken = edge.taken.filter(|taken| *taken > 0).map(times);
            let taken = taken.map_or_else(String::new, |taken| format!(" ({taken})"));
            format!("{when}to {}{taken}", shown(&edge.to))
        });
        let ways: Vec<String> = ways.collect();
        if !ways.is_empty() {
            sentences.push(format!("From {}: {}", shown(&node.name), ways.join("; ")));
        }
        if let Some(standing) = node.standing {
            sentences.push(format!("{} is {}", shown(&node.name), word(standing)));
        }
        for player in &node.played_by {
            let within = format!("Within {}, {}", shown(&node.name), heading(player));
            let inside = self::ways(&player.nodes, &player.edges);
            match (inside.is_empty(), player.nodes.first()) {
                (true, Some(role)) => sentences.push(format!("{within}: {}", shown(&role.name))),
                (true, None) => sentences.push(within),
                (false, _) => {
                    let inside = inside.into_iter();
                    sentences.extend(inside.map(|sentence| format!("{within}: {sentence}")));
                }
            }
        }
    }
    sentences
}
