import { Box } from 'ink';
import type { ReactNode } from 'react';
import type { Line } from './line.ts';
import { LineText } from './LineText.tsx';

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
