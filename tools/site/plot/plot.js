export {arrow, barX, cell, dot, line, plot, rect, ruleX, ruleY, text} from '@observablehq/plot';
