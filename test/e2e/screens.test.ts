import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { fetchAgent } from '../../src/server/control/control-client.ts';
import { rootSocketPath } from '../../src/server/control/socket-paths.ts';
import { Agent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { VirtualTerminal } from './virtual-terminal.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await Agent.create({
    manifests: { 'web.yaml': makePod('web', { containers: [shell('app', `echo serving; ${serve}`)] }) },
  });
});
afterAll(async () => {
  await agent.cleanUp();
});

const small = { columns: 80, rows: 24 };
const large = { columns: 200, rows: 50 };
/** The runtime in the first row, in the cyan of the theme `light`. */
const runtime = '\u001b[38;5;24mcontainerd';
const running = / web-edge1 +1\/1 +Running /;

async function open(words: readonly string[], more: Record<string, string> = {}): Promise<VirtualTerminal> {
  const command = agent.commandLine(words).join(' ');
  const terminal = await VirtualTerminal.open(`${command}; echo "code $?"`, {
    ...small,
    env: { ...agent.environment, ...more },
  });
  onTestFinished(() => terminal.close());
  return terminal;
}

/** Looks at the screen in both sizes, at its theme and at the page of the engine, and leaves it by the keys. */
async function look(terminal: VirtualTerminal, ...keys: string[]): Promise<void> {
  await terminal.until((screen) => running.test(screen) && / +STATUS +RESTARTS +AGE/.test(screen));
  await terminal.untilColored((shown) => shown.includes(runtime));
  await terminal.resize(large.columns, large.rows);
  const screen = await terminal.until((text) => /── LOG default\/web-edge1 ─+\nserving$/m.test(text));
  expect(Math.max(...screen.split('\n').map((line) => line.length))).toBeLessThanOrEqual(large.columns);
  await terminal.type('i');
  await terminal.until((text) => /^PLEG +evented, last relist .* ago in \d+ms {2}[▁-█]/m.test(text));
  await terminal.until((text) => / +LAST SYNC +NEXT/.test(text) && / web-edge1 +sync/.test(text));
  await terminal.untilColored((shown) => shown.includes(runtime));
  for (const key of keys) await terminal.type(key);
  await terminal.until((text) => text.includes('code 0'));
  expect(await terminal.ask('#{alternate_on} #{cursor_flag}')).toBe('0 1');
}

test('run and ui show the same in 80x24 and 200x50', async () => {
  const own = await open(['run', '--theme', 'light', agent.manifestsFolder]);
  await own.until((screen) => running.test(screen));
  await look(await open(['ui', '--theme', 'light']), 'q');
  await look(own, 'q', 's');
});

test('an agent that waits for its runtime has a screen that says so, here without colors, and q and s end both', async () => {
  const endpoint = `unix://${agent.rootDir}/absent.sock`;
  const words = ['run', '--container-runtime-endpoint', endpoint, agent.manifestsFolder];
  const terminal = await open(words, { NO_COLOR: '1' });
  const screen = await terminal.until((text) => text.includes('waits for its runtime'));
  expect(screen.split('\n')[0]).toMatch(/^kubelet-ts edge1 {2}STARTING for \d+s$/);
  // eslint-disable-next-line no-control-regex -- these are colors
  expect(await terminal.colored()).not.toMatch(/\u001b\[(3[0-8]|9\d)/);
  await terminal.type('q');
  await terminal.until((text) => text.includes('LEAVE THE SCREEN'));
  await terminal.type('s');
  const left = await terminal.until((text) => text.includes('code 0'));
  expect(left.trimEnd().split('\n')).toEqual(['kubelet-ts stopped. It had no pods.', 'code 0']);
});

test('the screen of run ends with an agent that is killed, and the terminal is whole', async () => {
  const terminal = await open(['run', agent.manifestsFolder]);
  await terminal.until((screen) => running.test(screen));
  process.kill((await fetchAgent(rootSocketPath(agent.rootDir)))?.pid ?? 0, 'SIGKILL');
  const screen = await terminal.until((text) => text.includes('code 137'));
  expect(screen).toContain('kubelet-ts exited with code 137. 1 pod keeps running unsupervised');
  expect(await terminal.ask('#{alternate_on} #{cursor_flag}')).toBe('0 1');
});
