import { afterEach, beforeEach, expect, test } from 'vitest';
import { Agent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { VirtualTerminal } from './virtual-terminal.ts';

let agent: Agent;
let terminal: VirtualTerminal;

beforeEach(async () => {
  agent = await Agent.create();
  const words = agent.commandLine(['run', agent.manifestsFolder]);
  const settings = 'stty -a | tr " " "\\n" | grep -x -e icanon -e echo';
  terminal = await VirtualTerminal.open(
    `echo before; ${words.join(' ')}; echo "code $?"; ${settings}; exec sleep 3600`,
    { columns: 120, rows: 40, env: agent.environment },
  );
  await terminal.until((screen) => screen.includes('kubelet-ts edge1'));
});
afterEach(async () => {
  await terminal.close();
  await agent.cleanUp();
});

const web = makePod('web', { containers: [shell('app', serve)] });

test('a dropped manifest goes through its worker states and PLEG events on the screen', async () => {
  await agent.write('web.yaml', web);
  const running = await terminal.until((screen) => / web-edge1 +1\/1 +Running /.test(screen));
  const happened = running
    .split('\n')
    .map((line) => /^\W*[\d:]{8} default\/web-edge1 +(?<event>\w+ +\w+)/.exec(line)?.groups?.['event'])
    .filter((event) => event !== undefined);
  const inOrder = ['PodAdded', 'Worker sync', 'Created', 'Started', 'ContainerStarted app'];
  const words = happened.map((event) => event.replaceAll(/ +/g, ' '));
  const positions = inOrder.map((event) => words.findIndex((word) => word.startsWith(event)));
  expect({ words, found: positions.every((position) => position >= 0) }).toEqual({ words, found: true });

  await agent.remove('web.yaml');
  await terminal.until((screen) => screen.includes('Worker           terminating'));
  await terminal.until((screen) => /ContainerDied +app \w+ exit 0/.test(screen));
  await terminal.until((screen) => screen.includes(' 0/0 ready'));
});

test('a manifest that is broken is on the screen', async () => {
  await agent.write('broken.yaml', 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: {}}\n');
  const screen = await terminal.until((text) => text.includes('1 problem'));
  expect(screen.split('PROBLEMS 1')[1]).toMatch(/broken\.yaml\S* .*spec\.containers/);
});

test('q leaves the terminal as it was, and the pods running', async () => {
  await agent.write('web.yaml', web);
  await terminal.until((screen) => / web-edge1 +1\/1 +Running /.test(screen));
  expect(await terminal.ask('#{alternate_on} #{cursor_flag}')).toBe('1 0');
  const before = await agent.runningContainer('web');
  await terminal.type('q');
  const screen = await terminal.until((text) => text.includes('\nicanon\necho\n'));
  expect(screen.trimEnd()).toBe('before\ncode 0\nicanon\necho');
  expect(await terminal.ask('#{alternate_on} #{cursor_flag}')).toBe('0 1');
  expect(await agent.runningContainer('web')).toEqual(before);
});

test('50 pods come up on a screen that changes its size', async () => {
  for (let count = 0; count < 50; count += 1) {
    await agent.write(`p${count}.yaml`, makePod(`p${count}`, { containers: [shell('app', serve)] }));
  }
  await terminal.until((screen) => /pods \d+\/50 ready/.test(screen));
  for (const [columns, rows] of [
    [60, 15],
    [200, 50],
    [100, 30],
  ] as const) {
    await terminal.resize(columns, rows);
    // The first line is drawn anew, and nothing is wider than the terminal.
    const screen = await terminal.until(
      (text) => text.startsWith('kubelet-ts edge1') || text.includes('\nkubelet-ts edge1'),
    );
    expect(Math.max(...screen.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
  }
  await terminal.until((screen) => screen.includes('pods 50/50 ready'));
  await terminal.press('G');
  await terminal.until((screen) => / p9-edge1 +1\/1 +Running /.test(screen));
});
