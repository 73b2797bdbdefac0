import { Transform } from 'ink';
import { memo, type ReactNode } from 'react';
import { type Line, styleLine } from './line.ts';

interface LineTextProps {
  line: Line;
  columns: number;
  hasColors: boolean;
}

/**
 * One row of the screen. The text goes through a transform of blanks, not through `Text`: ink keeps the measure of every
 * text that it ever drew, and the ages and events of this screen are new texts for as long as the node runs.
 */
export const LineText = memo(function LineText({ line, columns, hasColors }: LineTextProps): ReactNode {
  const text = styleLine(line, columns, hasColors);
  return <Transform transform={() => text}>{' '.repeat(columns)}</Transform>;
});
