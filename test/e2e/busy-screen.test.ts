import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { serveBusyNode } from './busy-node.ts';
import { program } from './program.ts';
import { VirtualTerminal } from './virtual-terminal.ts';

let rootDir: string;
let node: Awaited<ReturnType<typeof serveBusyNode>>;

beforeEach(async () => {
  rootDir = await mkdtemp('/tmp/kts-busy-');
  node = await serveBusyNode(rootDir, { pods: 200, eventsPerSecond: 1000 });
});
afterEach(async () => {
  node.close();
  await rm(rootDir, { recursive: true });
});

async function open(command: string, size: { columns: number; rows: number }): Promise<VirtualTerminal> {
  const terminal = await VirtualTerminal.open(command, size);
  onTestFinished(() => terminal.close());
  return terminal;
}

const ui = (): string => `${program} ui --root-dir ${rootDir} --theme dark`;

test('on a link of 300 ms and 10 kB/s the screen of 200x50 stays near, and keys are answered', async () => {
  const size = { columns: 200, rows: 50 };
  const report = join(rootDir, 'longest-wait');
  const link = join(import.meta.dirname, 'slow-link.mjs');
  const terminal = await open(
    `node ${link} ${report} ${size.columns} ${size.rows} ${ui()}; echo "the link is down"`,
    size,
  );
  await terminal.until((screen) => screen.includes('kubelet-ts bench'));
  await terminal.press('Tab');
  let behind = Infinity;
  await terminal.until((screen) => {
    const newest = Math.max(...Array.from(screen.matchAll(/ main (\d{13})/g), ([, id]) => Number(id)));
    behind = node.eventCount() - newest;
    return newest > 4000;
  });
  // 0.4 s on a busy machine.
  expect(behind).toBeLessThan(4000);
  for (let press = 0; press < 10; press += 1) await terminal.press('Tab');
  await terminal.type('?');
  await terminal.until((screen) => screen.includes('PgUp PgDn'));
  await terminal.type('q');
  await terminal.until((screen) => screen.includes('the link is down'));
  expect(Number(await readFile(report, 'utf8'))).toBeLessThan(2500);
});
