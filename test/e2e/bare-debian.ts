import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa, type ExecaError } from 'execa';
import { expect } from 'vitest';
import { Agent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { MountNamespace } from './mount-namespace.ts';
import { NetworkNamespace } from './network-namespace.ts';
import { cache, repository } from './program.ts';

/** Not this machine's environment, which may refer to files. */
const bareEnvironment = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  DEBIAN_FRONTEND: 'noninteractive',
  NODE_OPTIONS: '',
  NODE_EXTRA_CA_CERTS: '',
};

/** A bare Debian that has neither Node nor a runtime, and no network except that of its pods. */
export class BareDebian {
  readonly #folder: string;
  readonly #mounts: MountNamespace;
  readonly #network: NetworkNamespace;

  private constructor(folder: string, mounts: MountNamespace, network: NetworkNamespace) {
    this.#folder = folder;
    this.#mounts = mounts;
    this.#network = network;
  }

  static async create(): Promise<BareDebian> {
    const { stdout: archive } = await execa(join(repository, 'scripts/fetch-debian'), [cache]);
    const folder = await mkdtemp('/tmp/kts-');
    const [root, shared] = [join(folder, 'root'), join(folder, 'd')];
    try {
      await mkdir(root);
      await mkdir(shared);
      await execa('tar', ['-xf', archive, '-C', root]);
      return new BareDebian(folder, await MountNamespace.atRoot(root, shared), await NetworkNamespace.create());
    } catch (error) {
      await rm(folder, { recursive: true });
      throw error;
    }
  }

  /** A folder that is at the same path on this machine. */
  get shared(): string {
    return join(this.#folder, 'd');
  }

  async run(command: string, ...words: string[]): Promise<string> {
    const namespaces = [`--mount=${this.#mounts.path}`, `--net=${this.#network.path}`];
    const { stdout } = await execa('nsenter', [...namespaces, command, ...words], { env: bareEnvironment });
    return stdout;
  }

  /** Returns all paths including the folders in /run, except where packages keep their lists, caches and logs. */
  async paths(): Promise<string[]> {
    const ofPackages = ['/var/lib/dpkg', '/var/lib/apt', '/var/cache', '/var/log', this.shared];
    const left = ofPackages.flatMap((path) => ['-path', path, '-prune', '-o']);
    const all = await this.run('find', '/', '-xdev', ...left, '-print');
    const atRun = await this.run('find', '/run', '-mindepth', '1', '-maxdepth', '1');
    return `${all}\n${atRun}`.split('\n').toSorted();
  }

  /** Runs a job and a pod that is not on the host network with an installed program, and takes everything down. */
  async runsPods(installed: string): Promise<void> {
    const bare = await this.#agent(installed);
    try {
      const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'echo done')] });
      expect(await bare.cli(['run-once', '-'], { input: JSON.stringify(job) })).toEqual({
        code: 0,
        stdout: 'done\n',
        stderr: 'default/job-edge1: completed\n',
      });
      await bare.write('web.json', makePod('web', { hostNetwork: false, containers: [shell('app', serve)] }));
      await bare.start();
      await bare.untilReady('web');
      expect((await bare.cli(['exec', 'web', '--', 'echo', 'hello'])).stdout).toBe('hello\n');
      await bare.stop();
    } finally {
      // Runs before the program is removed.
      await bare.cleanUp();
    }
  }

  /** Runs a pod with the service of an installed program on OpenRC, and takes everything down. */
  async runsOpenRCService(installed: string): Promise<void> {
    const bare = await this.#agent(installed);
    const service = (action: string): Promise<string> => this.run('rc-service', '--nocolor', 'kubelet-ts', action);
    const untilReady = async (): Promise<string> => {
      const { code, stderr } = await bare.cli(['wait', 'web', '--timeout', '2m']);
      const errors = stderr.split('\n').filter((line) => !line.startsWith('waiting for '));
      expect({ code, errors }).toEqual({ code: 0, errors: [''] });
      return (await bare.runningContainer('web')).id;
    };
    try {
      await bare.write('web.json', makePod('web', { containers: [shell('app', serve)] }));
      // Like after a boot.
      await this.run('openrc', 'default');
      const line = bare.commandLine(['run', bare.manifestsFolder]);
      expect(await this.run(installed, 'install-service', '--', ...line.slice(line.indexOf('run') + 1))).toBe(
        'wrote /etc/init.d/kubelet-ts\nstart it now: rc-service kubelet-ts start',
      );
      expect(await this.run('rc-update', 'show', 'default')).toContain('kubelet-ts');
      await service('start');
      expect(await service('status')).toBe(' * status: started');
      const container = await untilReady();
      await service('reload');
      await this.#untilLogged('Reloaded the configuration and certificates');
      await service('restart');
      expect(await untilReady()).toBe(container);
      // Like a crash: supervise-daemon starts it again.
      await this.run('sh', '-c', 'kill -KILL "$(cat /run/openrc/options/kubelet-ts/child_pid)"');
      expect(await untilReady()).toBe(container);
      // supervise-daemon must not start the agent again, because its pods would come back.
      expect(await bare.down()).toEqual({
        code: 0,
        stdout: 'kubelet-ts stopped\npod default/web-edge1 removed\n',
        stderr: '',
      });
      expect(await service('status').catch((error: unknown) => (error as ExecaError).stdout)).toBe(
        ' * status: stopped',
      );
      await service('start');
      const next = await untilReady();
      expect(await this.run(installed, 'uninstall-service')).toContain(
        'removed /etc/init.d/kubelet-ts. Pods keep running',
      );
      expect((await bare.runningContainer('web')).id).toBe(next);
    } finally {
      await service('stop').catch(() => undefined);
      await bare.cleanUp();
    }
  }

  /** Resolves when the service has logged this message. */
  async #untilLogged(message: string): Promise<void> {
    const following = ['tail', '-n', '+1', '-f', '/var/log/kubelet-ts.log'];
    const tail = execa('nsenter', [`--mount=${this.#mounts.path}`, ...following], { reject: false, timeout: 120_000 });
    for await (const line of tail) if (line.includes(message)) tail.kill();
    expect((await tail).timedOut).toBe(false);
  }

  #agent(installed: string): Promise<Agent> {
    return Agent.create({
      program: installed,
      folder: this.shared,
      mountNamespace: this.#mounts.path,
      networkNamespace: this.#network.path,
      environment: bareEnvironment,
    });
  }

  async remove(): Promise<void> {
    await this.#mounts.remove();
    await this.#network.remove();
    await rm(this.#folder, { recursive: true });
  }
}
