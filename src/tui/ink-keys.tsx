import { Writable } from 'node:stream';
import { type Key, render, useInput, useStdin } from 'ink';
import type { ReactNode } from 'react';

interface InkSettings {
  stdin: NodeJS.ReadStream;
  onKey: (input: string, key: Key) => void;
}

/** The keyboard by ink. */
export interface InkKeys {
  /** Reads keys in raw mode, or leaves them to another program. */
  listen(isActive: boolean): void;
  unmount(): void;
  /** Resolves after `unmount`. Rejects if ink failed. */
  readonly exited: Promise<unknown>;
}

/**
 * Begins to read keys. ink draws nothing here: its frames took half of the screen's CPU, because it takes every row
 * apart into cells again. See terminal.ts.
 */
export function mountInkKeys({ stdin, onKey }: InkSettings): InkKeys {
  const stdout = new Writable({
    write: (_chunk, _encoding, done) => {
      done();
    },
  });
  const ink = render(null, {
    // ink only writes and reads the size.
    stdout: Object.assign(stdout, { columns: 1, rows: 1 }) as unknown as NodeJS.WriteStream,
    stdin,
    debug: true,
    exitOnCtrlC: false,
    patchConsole: false,
    isScreenReaderEnabled: false,
  });
  return {
    listen: (isActive) => {
      ink.rerender(<Keys isActive={isActive} onKey={onKey} />);
    },
    unmount: () => {
      ink.unmount();
    },
    exited: ink.waitUntilExit(),
  };
}

function Keys({ isActive, onKey }: Pick<InkSettings, 'onKey'> & { isActive: boolean }): ReactNode {
  const { isRawModeSupported } = useStdin();
  useInput(onKey, { isActive: isRawModeSupported && isActive });
  return null;
}

export type MountInkKeys = typeof mountInkKeys;
