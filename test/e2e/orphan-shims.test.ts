import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type ContainerdShim, findShims } from '../../src/containerd/containerd-shims.ts';
import { endShim } from '../../src/containerd/end-shim.ts';
import { findContainerd } from '../../src/containerd/find-containerd.ts';
import { ManagedContainerd } from '../../src/containerd/managed-containerd.ts';
import { listKnownIDs } from '../../src/containerd/orphan-shims-of.ts';
import { OrphanShims } from '../../src/containerd/orphan-shims.ts';
import { waitForPath } from '../../src/containerd/wait-for-path.ts';
import { type Channel, openChannel } from '../../src/cri/grpc-channel.ts';
import { grpcRuntimeService } from '../../src/cri/grpc-runtime-service.ts';
import type { Logger } from '../../src/logger.ts';
import type { ProcessIdentity } from '../../src/process/process-identity.ts';
import { Journal } from '../fakes/journal.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { inTurn, oldestAndNewest } from './containerd-releases.ts';
import { mountsBelow } from './leftovers.ts';
import { kill, processesOf } from './processes.ts';
import { program } from './program.ts';

const forGood = new AbortController().signal;
const endedText = 'Stopped a shim that containerd did not list';

describe.concurrent.each(oldestAndNewest())('orphan shims of containerd $release', ({ folder }) => {
  let rootDir: string;
  let containerd: ManagedContainerd;
  let channel: Channel;
  const warnings = new Journal<string>();
  const restarts = new Journal<ProcessIdentity>();
  const logger: Logger = {
    ...silentLogger,
    warn: (...[, text]: unknown[]) => {
      warnings.add(String(text));
    },
    child: () => logger,
  };
  const path = `${folder ?? ''}:${process.env['PATH'] ?? ''}`;
  const runtime = () => grpcRuntimeService(channel);
  const sandboxes = async (): Promise<string[]> => (await runtime().listPodSandbox({})).items.map(({ id }) => id);
  const shims = async (): Promise<string[]> => (await findShims(containerd.paths.socket)).map(({ id }) => id);

  /** Begins to make a sandbox whose container is not made before `go`: its shim runs when this resolves. */
  const beginSandbox = async (name: string) => {
    const begun = join(rootDir, `${name}.begun`);
    const go = join(rootDir, 'go');
    await rm(go, { force: true });
    await writeFile(join(rootDir, 'name'), name);
    const config = {
      metadata: { name, uid: name, namespace: 'default', attempt: 0 },
      logDirectory: join(rootDir, 'logs'),
      linux: { securityContext: { namespaceOptions: { network: 'NODE' as const } } },
    };
    const made = runtime().runPodSandbox({ config });
    // It may fail before it is awaited.
    made.catch(() => undefined);
    await waitForPath(begun, forGood);
    return { made, goOn: () => writeFile(go, '') };
  };

  /** Looks two times, without the pause. */
  const lookHastily = (end: (shim: ContainerdShim) => Promise<void>): Promise<void> => {
    const { paths, endpoint } = containerd;
    const deps = {
      findShims: () => findShims(paths.socket),
      listKnownIDs: (signal: AbortSignal) => listKnownIDs(endpoint, signal),
      events: () => ReadableStream.from([]),
      end,
      clock: { ...systemClock, sleep: () => Promise.resolve() },
      logger,
    };
    return new OrphanShims(deps, forGood).check();
  };

  /** Starts a shim as containerd does, behind its back. */
  const startUnheardOf = async () => {
    const id = randomBytes(32).toString('hex');
    const { state, root, socket } = containerd.paths;
    const [bundle = '', work = ''] = [state, root].map((top) => join(top, 'io.containerd.runtime.v2.task/k8s.io', id));
    const rootfs = join(bundle, 'rootfs');
    await mkdir(rootfs, { recursive: true });
    await mkdir(work, { recursive: true });
    await writeFile(join(bundle, 'config.json'), JSON.stringify({ ociVersion: '1.0.2', annotations: {} }));
    // Without a file the shim would wait for containerd to read its log.
    for (const name of ['options.json', 'log']) await writeFile(join(bundle, name), '');
    await execa('mount', ['-t', 'tmpfs', 'tmpfs', rootfs]);
    const { containerd: daemon } = await findContainerd({ path });
    const shim = join(daemon, '../containerd-shim-runc-v2');
    await execa(shim, ['-namespace', 'k8s.io', '-address', socket, '-id', id, 'start'], {
      cwd: bundle,
      env: { TTRPC_ADDRESS: `${socket}.ttrpc` },
      stdin: 'ignore',
    });
    return { id, bundle, work };
  };

  beforeAll(async () => {
    rootDir = await mkdtemp('/tmp/kts-');
    const slowRunc = join(rootDir, 'runc');
    const script = `
      case " $* " in *" create "*)
        touch ${rootDir}/$(cat ${rootDir}/name).begun
        while [ ! -e ${rootDir}/go ]; do sleep 0.05; done
      esac
      exec runc "$@"`;
    await writeFile(slowRunc, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    containerd = new ManagedContainerd({
      rootDir,
      clock: systemClock,
      logger,
      find: async () => ({ ...(await findContainerd({ path })), ociRuntime: slowRunc }),
      onRestart: (process) => {
        restarts.add(process);
      },
    });
    await containerd.start();
    channel = openChannel(containerd.endpoint);
  });

  afterAll(async () => {
    channel.close();
    await containerd.stop();
    for (const { pid } of await processesOf(rootDir)) kill(pid);
    for (const mount of await mountsBelow(rootDir)) await execa('umount', ['-l', mount]);
    await rm(rootDir, { recursive: true, force: true });
  });

  test('the shim of a sandbox that is just being made is none, however long it takes', inTurn, async () => {
    const { made, goOn } = await beginSandbox('slow');
    const [shim] = await shims();
    expect(await sandboxes()).toEqual([]);
    expect([...(await listKnownIDs(containerd.endpoint, forGood))]).toEqual([shim]);
    const ended: ContainerdShim[] = [];
    await lookHastily((orphan) => {
      ended.push(orphan);
      return Promise.resolve();
    });
    expect(ended).toEqual([]);
    await goOn();
    const { podSandboxId } = await made;
    expect(podSandboxId).toBe(shim);
    expect((await runtime().podSandboxStatus({ podSandboxId })).status?.state).toBe('SANDBOX_READY');
    await runtime().stopPodSandbox({ podSandboxId });
    await runtime().removePodSandbox({ podSandboxId });
    while ((await shims()).length > 0);
  });

  test(
    'no shim stays of a sandbox in the middle of whose start containerd was killed, once that is removed',
    inTurn,
    async () => {
      const { made, goOn } = await beginSandbox('killed');
      const [id = ''] = await shims();
      kill(containerd.pid ?? 0);
      await expect(made).rejects.toThrow();
      await restarts.next(() => true);
      await goOn();
      for (const podSandboxId of await sandboxes()) {
        await runtime().stopPodSandbox({ podSandboxId });
        await runtime().removePodSandbox({ podSandboxId });
      }
      // From 1.7 on containerd ends it itself.
      if ((await shims()).length > 0) await warnings.next((text) => text === endedText);
      // A process that was killed is there until the kernel has ended it. containerd's clean-up runs for a moment, too.
      while ((await processesOf(id)).length > 0);
      expect((await mountsBelow(rootDir)).filter((mount) => mount.includes(id))).toEqual([]);
    },
  );

  test('a shim that containerd never heard of is ended, with what it has on disk', inTurn, async () => {
    const { id, bundle, work } = await startUnheardOf();
    expect(await shims()).toEqual([id]);

    await lookHastily((orphan) => endShim(orphan, containerd.paths));
    while ((await shims()).length > 0);
    expect([bundle, work].filter((folder) => existsSync(folder))).toEqual([]);
    expect((await mountsBelow(rootDir)).filter((mount) => mount.includes(id))).toEqual([]);
  });

  test('down --all ends a shim that containerd never heard of before it ends containerd', inTurn, async () => {
    const { id, bundle, work } = await startUnheardOf();
    expect(await shims()).toEqual([id]);
    // It would start containerd again.
    containerd.release();
    const cgroupRoot = `/${basename(rootDir)}`;
    const { exitCode, stdout } = await execa(program, [
      'down',
      '--all',
      ...['--root-dir', rootDir, '--cgroup-root', cgroupRoot],
    ]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'managed containerd stopped' });
    expect((await processesOf(rootDir)).map(({ commandLine }) => commandLine)).toEqual([]);
    expect([bundle, work].filter((path) => existsSync(path))).toEqual([]);
    expect(await mountsBelow(rootDir)).toEqual([]);
  });
});
