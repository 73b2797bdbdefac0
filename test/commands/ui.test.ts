import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { runProgram } from '../../src/commands/program.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** What a command line that shows the screen rejects with, without an agent. Tests have no terminal. */
async function refusal(line: string, term = 'xterm'): Promise<unknown> {
  vi.stubEnv('TERM', term);
  onTestFinished(() => void vi.unstubAllEnvs());
  const rootDir = await temporaryFolder();
  const error: unknown = await runProgram(['node', 'kubelet-ts', ...line.split(' '), '--root-dir', rootDir]).catch(
    (reason: unknown) => reason,
  );
  return error instanceof Error ? error.message.replace(rootDir, 'ROOT') : error;
}

describe('the screen', () => {
  test.each(['ui', 'ui --read-only', 'top -i'])('%s needs a terminal', async (line) => {
    expect(await refusal(line)).toBe('the screen needs a terminal in its foreground');
  });

  test.each([
    ['ui --line-mode', 'xterm'],
    ['ui', 'dumb'],
    ['top -i', 'dumb'],
  ])('%s with TERM=%s needs none', async (line, term) => {
    expect(await refusal(line, term)).toBe('no kubelet-ts runs on ROOT');
  });
});
