import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { freePorts } from './free-ports.ts';
import { makePod, serve, shell } from './manifests.ts';
import { VirtualTerminal } from './virtual-terminal.ts';

// The newest release alone, because these commands depend little on it.
describe.each(containerdReleases().slice(-1))('commands inside pods on containerd $release', (containerd) => {
  let agent: Agent;

  beforeAll(async () => {
    const [podPort = 0] = await freePorts(1);
    const echo = `busybox nc -ll -p ${String(podPort)} -e cat & ${serve}`;
    agent = await startAgent({
      containerd,
      manifests: {
        'web.yaml': makePod('web', {
          containers: [
            shell('app', echo, { ports: [{ name: 'echo', containerPort: podPort }] }),
            shell('tool', 'exec sh', { stdin: true, tty: true }),
          ],
        }),
      },
    });
    await agent.untilReady('web');
  });
  afterAll(() => agent.cleanUp());

  test('attach -it types into the container, and the detach keys leave it running', async () => {
    const words = agent.commandLine(['attach', '-it', 'web', '-c', 'tool']);
    const terminal = await VirtualTerminal.open(`${words.join(' ')}; echo "code $?"`, { columns: 90, rows: 20 });
    onTestFinished(() => terminal.close());
    await terminal.until((screen) => screen.includes('Attached to container tool'));
    await terminal.type('echo sum $((40 + 2))\r');
    await terminal.until((screen) => screen.includes('\nsum 42\n'));
    await terminal.press('C-p');
    await terminal.press('C-q');
    await terminal.until((screen) => screen.includes('code 0'));
    expect(
      (await agent.untilReady('web')).pod.status?.containerStatuses?.map(({ restartCount }) => restartCount),
    ).toEqual([0, 0]);
  });

  test('the end of stdin ends the session of attach, and the container runs on', async () => {
    const { code } = await agent.cli(['attach', '-i', 'web', '-c', 'tool'], { input: 'true\n' });
    expect(code).toBe(0);
    const { pod } = await agent.untilReady('web');
    expect(pod.status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0, 0]);
  });

  test.each([
    ['20 connections', { count: 20, bytes: 500_000, own: false }],
    ['100 connections', { count: 100, bytes: 200_000, own: true }],
  ])('port-forward carries %s at once, byte for byte', async (_name, { count, bytes: size, own }) => {
    // The pod has the network of this machine. nc resets some of 100 connections that come at once.
    const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const remote = own ? String((server.address() as AddressInfo).port) : 'echo';
    const forwarding = agent.spawn(['port-forward', 'web', `:${remote}`]);
    onTestFinished(() => void forwarding.kill());
    const port = await new Promise<number>((resolve) => {
      forwarding.stdout.on('data', (chunk: Buffer) => {
        const found = /127\.0\.0\.1:(\d+) -> /.exec(String(chunk));
        if (found !== null) resolve(Number(found[1]));
      });
    });
    const echoed = Array.from({ length: count }, async () => {
      const sent = randomBytes(size);
      const client = connect({ port, host: '127.0.0.1' });
      client.write(sent);
      const received: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of client) {
        received.push(chunk as Buffer);
        bytes += (chunk as Buffer).length;
        if (bytes === sent.length) break;
      }
      return Buffer.concat(received).equals(sent);
    });
    expect(await Promise.all(echoed)).toEqual(Array.from({ length: count }, () => true));
  });

  test('port-forward refuses a pod that has ended', async () => {
    await agent.write('ended.json', makePod('ended', { restartPolicy: 'Never', containers: [shell('app', 'exit 0')] }));
    await agent.untilPod('ended', ({ worker }) => worker.state === 'finished');
    expect(await agent.cli(['port-forward', 'ended', ':80'])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'error: pod default/ended-edge1 is not running\nhint: Show its state: kubelet-ts describe default/ended-edge1\n',
    });
  });

  test('port-forward reports a port that nothing listens on', async () => {
    const forwarding = agent.spawn(['port-forward', 'web', ':1']);
    onTestFinished(() => void forwarding.kill());
    forwarding.stdout.once('data', (chunk: Buffer) => {
      const port = Number(/127\.0\.0\.1:(\d+) -> /.exec(String(chunk))?.[1]);
      connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
    });
    const line = await new Promise((resolve) =>
      forwarding.stderr.once('data', (chunk) => {
        resolve(String(chunk));
      }),
    );
    expect(line).toMatch(/^an error occurred forwarding \d+ -> 1: .*refused/);
  });

  test('cp takes a tree into the container and out again, as it was', async () => {
    const from = join(agent.rootDir, 'from');
    await mkdir(join(from, 'sub', 'n'.repeat(150)), { recursive: true });
    const bytes = randomBytes(5_000_000);
    await writeFile(join(from, 'sub/bytes'), bytes, { mode: 0o750 });
    await writeFile(join(from, 'sub', 'n'.repeat(150), 'é'.repeat(100)), 'deep');
    await symlink('sub/bytes', join(from, 'link'));
    const into = await agent.cli(['cp', '-c', 'app', from, 'web:/tmp']);
    const summed = await agent.cli(['exec', 'web', '-c', 'app', '--', 'sha256sum', '/tmp/from/sub/bytes']);
    const out = await agent.cli(['cp', '-c', 'app', 'web:/tmp/from/.', join(agent.rootDir, 'to')]);
    expect([into, out]).toEqual([into, out].map(() => ({ code: 0, stdout: '', stderr: '' })));
    expect(summed.stdout.split(' ')[0]).toBe(createHash('sha256').update(bytes).digest('hex'));
    await execa('diff', ['-r', '--no-dereference', from, join(agent.rootDir, 'to')]);
    expect((await stat(join(agent.rootDir, 'to/sub/bytes'))).mode & 0o7777).toBe(0o750);
    expect(await readlink(join(agent.rootDir, 'to/link'))).toBe('sub/bytes');
  });

  test('a hostile tar writes nothing outside of the target', async () => {
    const script =
      'cd /tmp && ln -sf /proc/self/exe x && printf "#!/bin/sh\\ncat /tmp/evil.tar\\n" > /tmp/tar && chmod +x /tmp/tar && busybox tar cf /tmp/evil.tar -C / etc/passwd && rm -f /bin/tar && cp /tmp/tar /bin/tar';
    expect(await agent.cli(['exec', 'web', '-c', 'app', '--', 'sh', '-c', script])).toMatchObject({ code: 0 });
    const { code, stderr } = await agent.cli(['cp', '-c', 'app', 'web:/tmp/from', join(agent.rootDir, 'evil')]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'error: the tar of the container sent etc/passwd, which is not in the source\nhint: The copy was stopped. The container may be trying to write elsewhere on this machine.\n',
    });
    await expect(readFile(join(agent.rootDir, 'evil'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
