import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemdUnit } from '../../../src/commands/service/systemd-unit.ts';
import { historyFolder } from '../../../src/engine/history/history-file.ts';
import { historyParts, journalUnits, logParts } from '../../../src/node/support-bundle/machine-parts.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const kibibyte = 1024;

/** So many lines of 1 KiB, each a JSON text. */
const linesOf = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => JSON.stringify(String(index).padEnd(kibibyte - 3, '.')));

test('has the complete lines in the last MiB of the agent log', async () => {
  const rootDir = await temporaryFolder();
  const lines = linesOf(1100);
  await writeFile(join(rootDir, 'kubelet-ts.log'), lines.map((line) => `${line}\n`).join(''));
  const part = (await logParts(rootDir)).find(({ name }) => name === 'logs/agent.log');
  // The line that may have been cut is left out.
  const kept = lines.slice(-1023).map((line) => `${line}\n`);
  expect(part).toEqual({ name: 'logs/agent.log', content: { text: kept.join('') } });
});

test('has the lines in the last 64 KiB of a history', async () => {
  const rootDir = await temporaryFolder();
  const lines = linesOf(100);
  await mkdir(historyFolder(rootDir), { recursive: true });
  await writeFile(join(historyFolder(rootDir), 'default_web.jsonl'), lines.map((line) => `${line}\n`).join(''));
  expect(await historyParts(rootDir)).toEqual([
    {
      name: 'history/default_web.jsonl.json',
      content: { json: lines.slice(-63).map((line) => JSON.parse(line) as string) },
    },
  ]);
});

test('the journal of services with other names is read', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'fleet.service'), systemdUnit({ program: '/usr/bin/kubelet-ts' }, [], 'fleet'));
  await writeFile(join(folder, 'fleet.conf'), systemdUnit({ program: '/usr/bin/kubelet-ts' }, [], 'fleet'));
  await writeFile(join(folder, 'ssh.service'), '[Unit]\n');
  await mkdir(join(folder, 'folder.service'));
  expect(await journalUnits(folder)).toEqual(['kubelet-ts', 'kubelet', 'fleet']);
  expect(await journalUnits(join(folder, 'missing'))).toEqual(['kubelet-ts', 'kubelet']);
});
