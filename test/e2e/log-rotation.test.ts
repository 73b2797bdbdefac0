import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { statSync, watch } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'vitest';
import { Agent, nodeName } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { hostFolder, makePod, serve, shell } from './manifests.ts';

const bursts = 4;
const linesOfBurst = 12_000;
const maxBytes = 1024 * 1024;
/** A line is 1 KiB, and output is read in pieces of some KiB. So no rotation comes in the middle of a line. */
const padding = 'x'.repeat(1024 - '123456 \n'.length);
const lines = bursts * linesOfBurst;
const numbered = (line: number): string => `${String(line).padStart(6, '0')} ${padding}\n`;
const text = (first: number, last = lines): string =>
  Array.from({ length: last - first + 1 }, (_, index) => numbered(first + index)).join('');

/** Writes 12 MB once there is a file `1` in the folder /gate, and so on: 48 MB. */
const flood = `line=1; for burst in $(seq ${bursts}); do
  until [ -e /gate/$burst ]; do sleep 0.1; done
  awk -v from=$line 'BEGIN { for (i = from; i < from + ${linesOfBurst}; i++) printf "%06d ${padding}\\n", i }'
  line=$((line + ${linesOfBurst})); done`;

/** Resolves when a log is too small to be rotated. */
async function untilRotated(path: string): Promise<void> {
  const watcher = watch(dirname(path));
  const isSmall = (): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? Infinity) < maxBytes;
  while (!isSmall()) await once(watcher, 'change');
  watcher.close();
}

interface Output {
  code: number | undefined;
  stdout: string;
  stderr: string;
}

/** The number of the first line, and a hash in place of some megabytes. */
const summary = ({ code, stdout, stderr }: Output) => ({
  code,
  first: Number.parseInt(stdout),
  hash: hash(stdout),
  stderr,
});

const hash = (bytes: string): string => createHash('sha256').update(bytes).digest('hex');

test.for(containerdReleases().slice(-1))(
  'a flood of a log on containerd $release keeps to its files, and readers show every line that is kept',
  async (containerd, { onTestFinished, expect }) => {
    const flags: string[] = [];
    const agent = await Agent.create({ containerd, flags });
    onTestFinished(() => agent.cleanUp());
    const config = join(agent.rootDir, 'kubelet.json');
    const fields = { containerLogMaxSize: '1Mi', containerLogMaxFiles: 3, containerLogMonitorInterval: '3s' };
    const kind = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
    await writeFile(config, JSON.stringify({ ...kind, ...fields }));
    flags.push('--config', config);
    await agent.start();
    const gate = join(agent.rootDir, 'gate');
    const app = shell('app', `${flood}; ${serve}`, { volumeMounts: [{ name: 'gate', mountPath: '/gate' }] });
    await agent.write('flood.yaml', makePod('flood', { volumes: [hostFolder('gate', gate)], containers: [app] }));
    const { pod } = await agent.untilReady('flood');
    const folder = join(agent.podLogsDir, `default_flood-${nodeName}_${pod.metadata.uid}`, 'app');
    const follower = agent.spawn(['logs', '-f', 'flood']);
    let received = 0;
    const all = createHash('sha256');
    follower.stdout.on('data', (bytes: Buffer) => {
      all.update(bytes);
      received += bytes.length;
    });
    for (let burst = 1; burst <= bursts; burst++) {
      await writeFile(join(gate, String(burst)), '');
      const wanted = Buffer.byteLength(text(1, burst * linesOfBurst));
      while (received < wanted) await once(follower.stdout, 'data');
      await untilRotated(join(folder, '0.log'));
    }
    follower.kill();
    await follower;
    expect(all.digest('hex')).toBe(hash(text(1)));

    const logs = summary(await agent.cli(['logs', 'flood']));
    expect(logs).toEqual({ code: 0, first: logs.first, hash: hash(text(logs.first)), stderr: '' });
    // Those of the first burst are deleted.
    expect(logs.first).toBeGreaterThan(1);
    const second = logs.first + 1;
    const tail = summary(await agent.cli(['logs', 'flood', '--tail', String(lines - logs.first)]));
    expect(tail).toEqual({ code: 0, first: second, hash: hash(text(second)), stderr: '' });
    expect((await readdir(folder)).length).toBeLessThanOrEqual(3);
  },
);
