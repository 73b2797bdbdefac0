import { Box, Transform } from 'ink';
import { memo, type ReactNode } from 'react';
import { type Line, styleLine } from './line.ts';

interface PaneProps {
  lines: readonly Line[];
  columns: number;
  /** Rows that the pane takes; empty ones at its end when there are fewer lines. */
  height: number;
  hasColors: boolean;
}

/** Lines from the top of a part of the screen that has a fixed height. */
export function Pane({ lines, columns, height, hasColors }: PaneProps): ReactNode {
  return (
    <Box flexDirection="column" height={height} flexShrink={0}>
      {lines.slice(0, height).map((line, index) => (
        <LineText key={index} line={line} columns={columns} hasColors={hasColors} />
      ))}
    </Box>
  );
}

interface LineTextProps {
  line: Line;
  columns: number;
  hasColors: boolean;
}

/**
 * One row of the screen. The text goes through a transform of blanks, not through `Text`: ink keeps the measure of every
 * text that it ever drew, and the ages and events of this screen are new texts for as long as the node runs.
 */
const LineText = memo(function LineText({ line, columns, hasColors }: LineTextProps): ReactNode {
  const text = styleLine(line, columns, hasColors);
  return <Transform transform={() => text}>{' '.repeat(columns)}</Transform>;
});
