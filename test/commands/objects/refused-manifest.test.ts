import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { register as registerDescribe } from '../../../src/commands/describe.ts';
import { podsOfAgent } from '../../../src/commands/pod/pods-of-agent.ts';
import { refusedManifest } from '../../../src/commands/objects/refused-manifest.ts';
import { register as registerLogs } from '../../../src/commands/logs.ts';
import { register as registerPs } from '../../../src/commands/ps.ts';
import { register as registerWait } from '../../../src/commands/wait.ts';
import type { EngineSnapshot, PodSnapshot } from '../../../src/engine/view/snapshot.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry, makeSnapshot } from '../../tui/make-snapshot.ts';
import { startFakeAgent } from '../fake-agent.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

const podText = (name: string, more = ''): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}${more}}\nspec: {containers: 7}\n`;

interface Given {
  text: string;
  origin?: string;
  severity?: 'error' | 'warning';
  pods?: PodSnapshot[];
}

/** An agent whose only file has this text and one problem. */
async function node({
  text,
  origin,
  severity = 'error',
  pods = [],
}: Given): Promise<EngineSnapshot & { file: string }> {
  const file = join(await temporaryFolder(), 'web.yaml');
  await writeFile(file, text);
  const problems = [{ origin: origin ?? file, line: 4, column: 20, severity, message: 'Expected a list' }];
  const sources = [{ source: 'file' as const, where: file, ready: true, pods: 0, problems }];
  return { ...makeSnapshot(pods), nodeName: 'edge1', sources, file };
}

describe('the manifest with an error that would declare a pod named web is', () => {
  test.each<[what: string, given: Given, isFound: boolean]>([
    ['a pod of that name', { text: podText('web') }, true],
    ['a pod of that name in any namespace', { text: podText('web', ', namespace: shop') }, true],
    ['a pod of that name beside others', { text: `${podText('db')}---\n${podText('web')}` }, true],
    ['a workload of that name', { text: podText('web').replace('v1\nkind: Pod', 'apps/v1\nkind: Deployment') }, true],
    ['a text that is not YAML', { text: 'metadata:\n\tname: web\n' }, true],
    ['a kind that is misspelt', { text: podText('web').replace('kind: Pod', 'kind: Podd') }, true],
    ['no pod of another name', { text: podText('db') }, false],
    ['no Service of that name', { text: podText('web').replace('Pod', 'Service') }, false],
    ['no pod with a container of that name', { text: podText('db', ', labels: {name: web}') }, false],
    ['no manifest with warnings', { text: podText('web'), severity: 'warning' }, false],
    ['no URL, whose text is not at hand', { text: podText('web'), origin: 'http://127.0.0.1:1/' }, false],
  ])('%s', async (_what, given, isFound) => {
    const { file, ...snapshot } = await node(given);
    const found = await refusedManifest(snapshot, { pod: 'web' });
    expect(found.map(({ origin }) => origin)).toEqual(isFound ? [file] : []);
  });

  test('known by the name of the pod with the node too', async () => {
    expect(await refusedManifest(await node({ text: podText('web') }), { pod: 'web-edge1' })).toHaveLength(1);
  });

  test('one of the namespace that is asked for', async () => {
    const snapshot = await node({ text: podText('web', ', namespace: shop') });
    expect(await refusedManifest(snapshot, { pod: 'shop/web' })).toHaveLength(1);
    expect(await refusedManifest(snapshot, { pod: 'web', namespace: 'default' })).toEqual([]);
  });
});

/** Runs a command beside an agent. */
async function run(
  register: typeof registerWait,
  name: string,
  snapshot: EngineSnapshot,
  ...words: string[]
): Promise<string> {
  const rootDir = await temporaryFolder();
  await startFakeAgent(rootDir, { '/v1/agent': { pid: 1 }, '/v1/snapshot': snapshot, '/v1/history': [] });
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command();
  register(program, deps);
  await program.parseAsync([name, '--root-dir', rootDir, ...words], { from: 'user' });
  return deps.printed.stdout;
}

const hint = (file: string): string =>
  `Its manifest has an error: ${file}:4:20: Expected a list. Show it: kubelet-ts explain web`;

test.each<[what: string, asks: (snapshot: EngineSnapshot) => Promise<unknown>]>([
  ['get', (snapshot) => run(registerPs, 'ps', snapshot, 'pod', 'web')],
  ['describe', (snapshot) => run(registerDescribe, 'describe', snapshot, 'pod', 'web')],
  ['logs, exec and the like', (snapshot) => run(registerLogs, 'logs', snapshot, 'web')],
  [
    'restart, stop and the like',
    async (snapshot) => {
      const rootDir = await temporaryFolder();
      await startFakeAgent(rootDir, { '/v1/snapshot': snapshot });
      return podsOfAgent(rootDir, ['web'], {}, new PassThrough());
    },
  ],
])('%s of a pod whose manifest has an error names its file, before a similar name', async (_what, asks) => {
  const { file, ...snapshot } = await node({ text: podText('web'), pods: [makeEntry('wep-edge1')] });
  await expect(asks(snapshot)).rejects.toMatchObject({ message: 'no pod "web"', hint: hint(file) });
});

describe('wait', () => {
  const refused = (file: string): object => ({
    name: 'UserError',
    message: `pod web does not run its manifest, which has an error: ${file}:4:20: Expected a list`,
    hint: 'Correct the manifest, then wait again. Show the error: kubelet-ts explain web',
  });

  test.each(['ready', 'completed', 'updated', 'jsonpath={.status.phase}=Running'])(
    '--for %s ends at once for a pod whose manifest has an error',
    async (condition) => {
      const { file, ...snapshot } = await node({ text: podText('web') });
      const waiting = run(registerWait, 'wait', snapshot, 'web', '--timeout', '1h', '--for', condition);
      await expect(waiting).rejects.toMatchObject(refused(file));
    },
  );

  test('--for deleted is met by such a pod', async () => {
    const snapshot = await node({ text: podText('web') });
    expect(await run(registerWait, 'wait', snapshot, 'web', '--for', 'deleted')).toBe('pod/web condition met\n');
  });

  test('continues for a pod that another manifest with an error does not declare', async () => {
    const snapshot = await node({ text: podText('db') });
    await expect(run(registerWait, 'wait', snapshot, 'web', '--timeout', '1h')).rejects.toMatchObject({
      message: 'kubelet-ts exited before these pods were ready: web (not declared)',
    });
  });

  test('--for updated ends at once while an earlier revision runs, which is ready', async () => {
    const { file, sources, ...snapshot } = await node({ text: podText('web'), pods: [makeEntry('web-edge1')] });
    const kept = {
      origin: file,
      severity: 'error' as const,
      message: 'its last good revision stays in use',
      lastGoodPods: [{ namespace: 'default', name: 'web-edge1', uid: 'u' }],
    };
    const withKept = {
      ...snapshot,
      sources: sources.map((source) => ({ ...source, problems: [...source.problems, kept] })),
    };
    await expect(run(registerWait, 'wait', withKept, 'web', '--for', 'updated')).rejects.toMatchObject(refused(file));
    expect(await run(registerWait, 'wait', withKept, 'web')).toBe('pod/web condition met\n');
  });
});
