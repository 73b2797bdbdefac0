import { createHash } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { Agent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';

const bursts = 4;
const linesOfBurst = 12_000;
const padding = 'x'.repeat(1000);
const lines = bursts * linesOfBurst;
const text = (first: number): string =>
  Array.from({ length: lines - first + 1 }, (_, index) => `${first + index} ${padding}\n`).join('');

/** Writes 12 MB, waits for a check of the logs, and so on: 48 MB. */
const flood = `line=1; for burst in $(seq ${bursts}); do
  awk -v from=$line 'BEGIN { for (i = from; i < from + ${linesOfBurst}; i++) print i " ${padding}" }'
  line=$((line + ${linesOfBurst})); sleep 3.2; done`;

const hash = (bytes: string): string => createHash('sha256').update(bytes).digest('hex');

test.concurrent.for(containerdReleases())(
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
    const manifest = makePod('flood', { containers: [shell('app', `sleep 1; ${flood}; ${serve}`)] });
    await agent.write('flood.yaml', manifest);
    await agent.untilReady('flood');
    const follower = agent.spawn(['logs', '-f', 'flood']);
    let received = 0;
    const all = createHash('sha256');
    const wanted = Buffer.byteLength(text(1));
    await new Promise<void>((resolve) => {
      follower.stdout.on('data', (bytes: Buffer) => {
        all.update(bytes);
        received += bytes.length;
        if (received >= wanted) resolve();
      });
      follower.stdout.on('close', resolve);
    });
    follower.kill();
    await follower;
    expect({ received, hash: all.digest('hex') }).toEqual({ received: wanted, hash: hash(text(1)) });

    const { stdout, stderr } = await agent.cli(['logs', 'flood']);
    const first = Number.parseInt(stdout);
    expect({ hash: hash(stdout), stderr }).toEqual({ hash: hash(text(first)), stderr: '' });
    // Those of the first burst are deleted.
    expect(first).toBeGreaterThan(1);
    const tail = await agent.cli(['logs', 'flood', '--tail', String(linesOfBurst + 1)]);
    expect(hash(tail.stdout)).toBe(hash(text(lines - linesOfBurst)));
    const [pod = ''] = await readdir(agent.podLogsDir);
    const names = await readdir(join(agent.podLogsDir, pod, 'app'));
    expect(names.length).toBeLessThanOrEqual(3);
  },
);
