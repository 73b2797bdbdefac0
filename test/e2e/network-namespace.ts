import { rm } from 'node:fs/promises';
import { execa } from 'execa';

/** A separate network namespace. Whatever an agent in it does to bridges, addresses and iptables stays inside. */
export class NetworkNamespace {
  readonly name: string;

  private constructor(name: string) {
    this.name = name;
  }

  static async create(): Promise<NetworkNamespace> {
    const namespace = new NetworkNamespace(`kts-${process.pid}-${process.hrtime.bigint()}`);
    await execa('ip', ['netns', 'add', namespace.name]);
    await execa('ip', ['-n', namespace.name, 'link', 'set', 'lo', 'up']);
    return namespace;
  }

  get path(): string {
    return `/run/netns/${this.name}`;
  }

  /** Runs a command inside. `ip netns exec` would hide the cgroup mounts. */
  async run(command: string, ...words: string[]): Promise<string> {
    const { stdout } = await execa('nsenter', [`--net=${this.path}`, command, ...words]);
    return stdout;
  }

  async remove(): Promise<void> {
    await execa('ip', ['netns', 'delete', this.name]);
    await rm(this.path, { force: true });
  }
}
