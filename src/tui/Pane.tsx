import { Box, Transform } from 'ink';
import { memo, type ReactNode } from 'react';
import { type Line, styleLine } from './line.ts';

interface PaneProps {
  lines: readonly Line[];
  columns: number;
  /** Rows of the pane. Missing lines are left empty. */
  height: number;
  hasColors: boolean;
}

/** The first lines that fit a part of the screen with a fixed height. */
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
 * One row of the screen. The text goes through a transform of blanks instead of `Text`, because ink caches the measure
 * of every text. Ages and events make new texts for as long as the node runs.
 */
const LineText = memo(function LineText({ line, columns, hasColors }: LineTextProps): ReactNode {
  const text = styleLine(line, columns, hasColors);
  return <Transform transform={() => text}>{' '.repeat(columns)}</Transform>;
});
