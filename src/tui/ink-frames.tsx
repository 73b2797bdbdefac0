import { setFlagsFromString } from 'node:v8';
import { Box, type Key, render, Transform, useInput, useStdin } from 'ink';
import { memo, type ReactNode } from 'react';
import { FrameStream } from './frame-stream.ts';
import { type Line, styleLine } from './line.ts';
import type { Palette } from './theme.ts';

/** A frame for ink. */
export interface InkFrame {
  lines: readonly Line[];
  columns: number;
  rows: number;
  palette: Palette | undefined;
  /** False while another program uses the terminal. */
  hasKeys: boolean;
}

interface InkSettings {
  stdin: NodeJS.ReadStream;
  size: () => { columns: number; rows: number };
  /** Called with each frame that ink has drawn. */
  onFrame: (frame: string) => void;
  onKey: (input: string, key: Key) => void;
}

/** ink on our terminal. */
export interface InkFrames {
  draw(frame: InkFrame): void;
  unmount(): void;
  /** Resolves after `unmount`. Rejects if a frame failed. */
  readonly exited: Promise<unknown>;
}

/** Begins to read keys and to draw frames. ink loses an error in its first frame, so that one is empty. */
export function mountInk({ stdin, size, onFrame, onKey }: InkSettings): InkFrames {
  // Otherwise V8 takes tens of megabytes for frames that are garbage after the next one.
  setFlagsFromString('--semi-space-growth-factor=1');
  const ink = render(null, {
    // ink only writes and reads the size.
    stdout: new FrameStream(size, onFrame) as unknown as NodeJS.WriteStream,
    stdin,
    debug: true,
    exitOnCtrlC: false,
    patchConsole: false,
    isScreenReaderEnabled: false,
  });
  return {
    draw: (frame) => {
      ink.rerender(<Frame {...frame} onKey={onKey} />);
    },
    unmount: () => {
      ink.unmount();
    },
    exited: ink.waitUntilExit(),
  };
}

function Frame({ lines, columns, rows, palette, hasKeys, onKey }: InkFrame & Pick<InkSettings, 'onKey'>): ReactNode {
  const { isRawModeSupported } = useStdin();
  useInput(onKey, { isActive: isRawModeSupported && hasKeys });
  return (
    <Box flexDirection="column" height={rows} width={columns}>
      {lines.map((line, index) => (
        <LineText key={index} line={line} columns={columns} palette={palette} />
      ))}
    </Box>
  );
}

interface LineTextProps {
  line: Line;
  columns: number;
  palette: Palette | undefined;
}

/**
 * One row of the screen. The text goes through a transform of blanks instead of `Text`, because ink caches the measure
 * of every text. Ages and events make new texts for as long as the node runs.
 */
const LineText = memo(function LineText({ line, columns, palette }: LineTextProps): ReactNode {
  const text = styleLine(line, columns, palette);
  return <Transform transform={() => text}>{' '.repeat(columns)}</Transform>;
});
