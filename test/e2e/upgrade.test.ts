import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RuntimeConnection } from '../../src/node/runtime-connection.ts';
import { manifestsFolder, recordedRootDir } from '../releases/recorded-release.ts';
import { Agent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { MountNamespace } from './mount-namespace.ts';
import { readRelease, replayRelease } from './replay-release.ts';

const warnLevel = 40;

/** The folders that the releases were recorded with, because their paths are in UIDs. */
const recordedNode = ['--root-dir', recordedRootDir, '--pod-logs-dir', join(recordedRootDir, 'logs')];

/** The earlier release in test/releases. */
const commit = '02ed8e7';

describe('pods that an earlier release left running', () => {
  let mounts: MountNamespace;
  let agent: Agent;
  let connection: RuntimeConnection;
  let before: unknown[];

  beforeAll(async () => {
    mounts = await MountNamespace.create();
    agent = await Agent.create({ mountNamespace: mounts.path });
    connection = await agent.connect();
    await mounts.run('mkdir', manifestsFolder, recordedRootDir);
    await mounts.run('mount', '--bind', agent.rootDir, recordedRootDir);
    // For a containerd with the image.
    await start();
    await agent.stop();
    for (const [name, text] of Object.entries((await readRelease(commit)).manifests)) await declare(name, text);
    await replayRelease(commit, agent, connection);
    before = await containers();
  });
  afterAll(async () => {
    connection.close();
    expect(await agent.cli(['down', '--all', ...recordedNode])).toMatchObject({ code: 0, stderr: '' });
    await agent.cleanUp();
    await mounts.remove();
  });

  const start = (): Promise<void> =>
    agent.startBy(agent.commandLine(['run', manifestsFolder, ...recordedNode, '--no-tui', '--log-format', 'json']));

  const declare = (name: string, text: string): Promise<string> =>
    mounts.run('sh', '-c', 'printf %s "$1" > "$0"', join(manifestsFolder, name), text);

  /** All containers, by age. After any restart a container has another process. */
  async function containers(): Promise<unknown[]> {
    const { runtime, listAllContainers } = connection;
    const listed = (await listAllContainers({})).containers;
    return Promise.all(
      listed
        .sort((a, b) => Number(a.createdAt - b.createdAt))
        .map(async ({ id, state, metadata, labels }) => {
          const { info } = await runtime.containerStatus({ containerId: id, verbose: true });
          const { pid } = JSON.parse(info['info'] ?? '{}') as { pid?: number };
          return { id, pid, state, attempt: metadata?.attempt, name: labels['io.kubernetes.container.name'] };
        }),
    );
  }

  /** Starts the agent, which works on all pods, runs a new one, and returns what `ps` shows of the others. */
  async function startWith(newPod: string): Promise<unknown[]> {
    const since = agent.logs.length;
    await start();
    await declare(`${newPod}.json`, JSON.stringify(makePod(newPod, { containers: [shell('app', serve)] })));
    await agent.untilReady(newPod);
    const { pods } = await agent.until((snapshot) =>
      snapshot.pods.every(({ pod: { status } }) => status?.phase !== undefined && status.phase !== 'Pending'),
    );
    // A probe may take too long on a busy machine, and the machine may have cgroup v1.
    const warnings = agent.logs
      .slice(since)
      .filter(({ level, reason }) => level >= warnLevel && reason !== 'Unhealthy' && reason !== 'CgroupV1');
    expect(warnings).toEqual([]);
    expect((await containers()).slice(0, before.length)).toEqual(before);
    return pods
      .filter(({ pod }) => pod.metadata.name !== `${newPod}-edge1`)
      .map(({ pod: { metadata, status } }) => [
        metadata.name,
        status?.reason ?? status?.phase,
        ...(status?.containerStatuses ?? []).map(({ restartCount }) => restartCount),
      ])
      .sort();
  }

  const pods = [
    ['applied-edge1', 'Running', 0],
    ['job-edge1', 'Succeeded', 0],
    ['named-edge1', 'Running', 0],
    ['stopped-edge1', 'Stopped', 0],
    ['web-edge1', 'Running', 0, 1],
  ];

  test('run on under this program', async () => {
    expect(await startWith('first')).toEqual(pods);
  });

  test('run on when what a later release wrote has fields, entries and files that this one does not know', async () => {
    await agent.stop();
    await writeAsLaterRelease(agent.rootDir);
    expect(await startWith('second')).toEqual([...pods, ['first-edge1', 'Running', 0]].sort());
  });
});

async function writeAsLaterRelease(rootDir: string): Promise<void> {
  for (const folder of ['pods', 'state', 'manifests-last-good']) {
    const entries = await readdir(join(rootDir, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && !path.includes('/volumes/')) await writeFile(path, laterText(await readFile(path, 'utf8')));
    }
  }
  for (const folder of ['state', 'manifests-last-good']) await writeFile(join(rootDir, folder, 'later.json'), '{}\n');
}

/** A line may be the hash of the rest. Any other text is JSON, or a line of it for each entry. */
function laterText(text: string): string {
  const [, hash, rest = ''] = /^([0-9a-f]{64})\n(.*)$/s.exec(text) ?? [];
  if (hash !== undefined) {
    const later = laterText(rest);
    return `${createHash('sha256').update(later).digest('hex')}\n${later}`;
  }
  try {
    return JSON.stringify(withLaterFields(JSON.parse(text)));
  } catch {
    return text.replaceAll(/^\{.*\}$/gm, (line) => JSON.stringify(withLaterFields(JSON.parse(line))));
  }
}

function withLaterFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withLaterFields);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, field]) => [name, withLaterFields(field)]);
  return { ...(Object.fromEntries(fields) as object), fieldOfALaterRelease: { since: 2 } };
}
