import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { VirtualTerminal } from './virtual-terminal.ts';

let agent: Agent;
let terminal: VirtualTerminal;

beforeAll(async () => {
  agent = await startAgent({
    manifests: { 'web.yaml': makePod('web', { containers: [shell('app', `echo hello; ${serve}`)] }) },
  });
  await agent.untilReady('web');
  const words = agent.commandLine(['ui']);
  terminal = await VirtualTerminal.open(`${words.join(' ')}; echo "code $?"; exec sleep 3600`, {
    columns: 100,
    rows: 24,
    env: agent.environment,
  });
});
afterAll(async () => {
  await terminal.close();
  await agent.cleanUp();
});

test('a screen of a running agent shows its pods, their usage and their logs', async () => {
  await terminal.until((screen) => /> default +web-edge1 +1\/1 +Running .*\d+Mi [▁-█]/.test(screen));
  await terminal.type('l');
  await terminal.until((screen) => /^hello$/m.test(screen));
  await terminal.press('Escape');
  await terminal.until((screen) => screen.includes('> default'));
});

test('s is a shell in the container, and its end brings the screen back', async () => {
  await terminal.type('s');
  await terminal.until((screen) => screen.includes('/ #'));
  await terminal.type('echo $((6*7)) >/proc/1/fd/1; exit');
  await terminal.press('Enter');
  await terminal.until((screen) => screen.includes('> default'));
  await terminal.type('l');
  await terminal.until((screen) => /^42$/m.test(screen));
  await terminal.press('Escape');
  await terminal.until((screen) => screen.includes('> default'));
});

test('R restarts the pod after a question', async () => {
  await terminal.type('R');
  await terminal.until((screen) => /\$ kubelet-ts restart .*web/.test(screen));
  await terminal.type('y');
  await terminal.until((screen) => /restart .*web {2}done/.test(screen));
  await terminal.press('Escape');
  await terminal.until((screen) => / web-edge1 +1\/1 +Running +1/.test(screen));
});

test('a screen that loses its agent says so, and comes back with the next one', async () => {
  await agent.stop();
  await terminal.until((screen) => /^kubelet-ts edge1 {2}LOST for \d+s, .*the agent has ended/.test(screen));
  await agent.start();
  await terminal.until((screen) => /^kubelet-ts edge1 {2}containerd/.test(screen));
  await terminal.type('q');
  await terminal.until((screen) => screen.includes('code 0'));
  expect(await terminal.ask('#{alternate_on} #{cursor_flag}')).toBe('0 1');
});
