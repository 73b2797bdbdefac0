import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
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
  const screen = `echo $$ >${agent.rootDir}/screen-pid; exec ${agent.commandLine(['ui']).join(' ')}`;
  terminal = await VirtualTerminal.open(`sh -c '${screen}'; echo "code $?"; exec sleep 3600`, {
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
  await terminal.until((screen) => /restart .*web-edge1 {2}done/.test(screen));
  await terminal.press('Escape');
  await terminal.until((screen) => / web-edge1 +1\/1 +Running +1/.test(screen));
});

/** The colors in the row of the pod and below. The row above may set that of its beginning. */
function colorsOf(shown: string): Set<string> {
  const codes = shown.slice(shown.indexOf('web-edge1')).matchAll(/\[(3\d|9\d)m/g);
  return new Set([...codes].map(([, code = '']) => code).filter((code) => code !== '39'));
}

test('a screen that loses its agent to SIGKILL shows the last state in gray, and comes back with the next one', async () => {
  await terminal.untilColored((shown) => colorsOf(shown).has('36'));
  await agent.kill9();
  const lost = await terminal.until((screen) => /^kubelet-ts edge1 {2}LOST for .*the agent has exited/.test(screen));
  expect(lost).toMatch(/^> default +web-edge1 +1\/1 +Running/m);
  await terminal.untilColored((shown) => [...colorsOf(shown)].join() === '90');
  await agent.start();
  await terminal.until(
    (screen) => /^kubelet-ts edge1 {2}v\S+ {2}containerd/.test(screen) && / 1\/1 +Running/.test(screen),
  );
  await terminal.untilColored((shown) => colorsOf(shown).has('36'));
});

test('a forwarded port stays when its page is closed, and ends with a screen that is killed', async () => {
  // The pod has the network of this machine.
  const server = createServer((socket) => socket.end('hello'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  await terminal.type('f');
  await terminal.until((screen) => screen.includes(':port-forward default/web-edge1 '));
  await terminal.type(`:${(server.address() as AddressInfo).port}`);
  await terminal.press('Enter');
  const page = await terminal.until((screen) => screen.includes('Forwarding from 127.0.0.1:'));
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(page)?.[1]);
  await terminal.press('Escape');
  await terminal.until((screen) => screen.includes('1 forwarded port (F)'));
  expect(await text(connect(port, '127.0.0.1'))).toBe('hello');
  server.removeAllListeners('connection').on('connection', (socket) => socket.on('error', () => undefined).resume());
  const held = connect(port, '127.0.0.1').on('error', () => undefined);
  await once(server, 'connection');
  process.kill(Number(await readFile(join(agent.rootDir, 'screen-pid'), 'utf8')), 'SIGKILL');
  await once(held.resume(), 'close');
  // The command closes its port when its screen has gone, and the test waits for that.
  while ((await connectError(port)) === undefined) await setImmediate();
  expect(await connectError(port)).toBe('ECONNREFUSED');
});

/** The code of the error of a connection to a port. Returns undefined if it accepts one. */
async function connectError(port: number): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}
