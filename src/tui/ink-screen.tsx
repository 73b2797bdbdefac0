import { Writable } from 'node:stream';
import { Box, type Key, render, Transform, useInput, useStdin } from 'ink';
import { memo, type ReactNode } from 'react';
import { type Frame, frameText } from './frame-lines.ts';

interface InkSettings {
  stdin: NodeJS.ReadStream;
  /** Called with each frame that ink has drawn, a line a row. */
  onFrame: (text: string) => void;
  onKey: (input: string, key: Key) => void;
}

/** The frames and the keyboard, provided by ink. */
export interface InkScreen {
  /** Calls `onFrame` before it returns. */
  draw(frame: Frame): void;
  /** Reads keys in raw mode, or leaves them to another program. */
  listen(isActive: boolean): void;
  unmount(): void;
  /** Resolves after `unmount`. Rejects if ink failed. */
  readonly exited: Promise<unknown>;
}

/**
 * Starts to draw frames and to read keys. In its debug mode, ink writes whole frames, here to `onFrame`. Its own writer
 * clears the terminal for each frame of full height, and draws nothing where `CI` is set.
 */
export function mountInkScreen({ stdin, onFrame, onKey }: InkSettings): InkScreen {
  const empty: Frame = { columns: 1, rows: 1, sections: [] };
  let frame = empty;
  let isListening = false;
  /** What ink drew last. */
  let drawn = '';
  const output = new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      if (frame !== empty) {
        drawn = text;
        onFrame(text);
      }
      done();
    },
  });
  const stdout = Object.assign(output, { columns: frame.columns, rows: frame.rows });
  const ink = render(null, {
    // ink only writes, and reads the size.
    stdout: stdout as unknown as NodeJS.WriteStream,
    stdin,
    debug: true,
    exitOnCtrlC: false,
    patchConsole: false,
    isScreenReaderEnabled: false,
  });
  const show = (): void => {
    ink.rerender(<Screen frame={frame} isListening={isListening} onKey={onKey} />);
  };
  return {
    draw: (next) => {
      // A whole frame of ink is much more expensive than this.
      const isSame = sizeText(frame) === sizeText(next) && frameText(frame) === frameText(next);
      frame = next;
      if (isSame) {
        onFrame(drawn);
        return;
      }
      stdout.columns = next.columns;
      stdout.rows = next.rows;
      show();
    },
    listen: (isActive) => {
      isListening = isActive;
      show();
    },
    unmount: () => {
      ink.unmount();
    },
    exited: ink.waitUntilExit(),
  };
}

export type MountInkScreen = typeof mountInkScreen;

const sizeText = ({ columns, rows }: Frame): string => `${columns}x${rows}`;

function Screen({
  frame,
  isListening,
  onKey,
}: Pick<InkSettings, 'onKey'> & { frame: Frame; isListening: boolean }): ReactNode {
  const { isRawModeSupported } = useStdin();
  useInput(onKey, { isActive: isRawModeSupported && isListening });
  return (
    <Box flexDirection="column" width={frame.columns} height={frame.rows}>
      {frame.sections.map(({ name, rows }) => (
        <Section key={name} rows={rows} />
      ))}
    </Box>
  );
}

function Section({ rows }: { rows: readonly string[] }): ReactNode {
  return (
    <Box flexDirection="column" flexShrink={0}>
      {rows.map((text, index) => (
        <Row key={index} text={text} />
      ))}
    </Box>
  );
}

/**
 * One row. The text replaces a space, because ink caches the size of every text in a `Text`, and ages and events create
 * new texts as long as the node runs.
 */
const Row = memo(function Row({ text }: { text: string }): ReactNode {
  return <Transform transform={() => text}> </Transform>;
});
