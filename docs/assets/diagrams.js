// The theme colours diagrams by rules that do not meet all of their parts: the heads of arrows have ids of their own in each
// diagram, and the titles of alternatives are left out. In the dark they would be dark.
const { initialize } = mermaid;
mermaid.initialize = (config) =>
  initialize({
    ...config,
    themeCSS: `${config.themeCSS ?? ""}
      marker path, marker polygon, marker circle {
        fill: var(--md-mermaid-edge-color) !important;
        stroke: var(--md-mermaid-edge-color) !important;
      }
      .sectionTitle, .sectionTitle > tspan {
        fill: var(--md-mermaid-label-fg-color) !important;
      }`,
  });
