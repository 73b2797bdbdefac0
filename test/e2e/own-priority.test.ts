import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const autogroup = '/proc/self/autogroup';

/** Raises its priority, and prints its nice value and the priority of its session. */
const script = `
  import { existsSync, readFileSync } from 'node:fs';
  import { getPriority } from 'node:os';
  import { raiseOwnPriority } from './own-priority.ts';
  raiseOwnPriority({ debug: (facts, text) => console.log(text, facts) });
  console.log(getPriority(), existsSync('${autogroup}') ? readFileSync('${autogroup}', 'utf8').trim() : '');
`;

async function priorities(options: { detached: boolean }): Promise<string> {
  const { outputFiles } = buildSync({
    stdin: { contents: script, loader: 'ts', resolveDir: join(import.meta.dirname, '../../src') },
    bundle: true,
    platform: 'node',
    write: false,
  });
  const { stdout } = await execa(process.execPath, ['-'], { input: outputFiles[0]?.contents ?? '', ...options });
  return stdout;
}

test('in a session of its own an agent raises the priority of the session, too', async () => {
  expect(await priorities({ detached: true })).toMatch(
    existsSync(autogroup) ? /^-10 \/autogroup-\d+ nice -10$/ : /^-10 $/,
  );
});

test('a session that has other programs keeps its priority', async () => {
  const before = existsSync(autogroup) ? readFileSync(autogroup, 'utf8').trim() : '';
  expect(await priorities({ detached: false })).toBe(`-10 ${before}`);
});
