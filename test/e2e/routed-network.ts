import { NetworkNamespace } from './network-namespace.ts';

/** A network namespace with an uplink: `eth0` (10.77.0.99) leads to a namespace that plays the router (10.77.0.1). */
export class RoutedNetwork {
  private constructor(
    readonly node: NetworkNamespace,
    readonly router: NetworkNamespace,
  ) {}

  static async create({ mtu = 1500 } = {}): Promise<RoutedNetwork> {
    const [node, router] = [await NetworkNamespace.create(), await NetworkNamespace.create()];
    const peer = ['peer', 'name', 'eth0', 'mtu', `${mtu}`, 'netns', router.name];
    await node.run('ip', 'link', 'add', 'eth0', 'mtu', `${mtu}`, 'type', 'veth', ...peer);
    await router.run('ip', 'address', 'add', '10.77.0.1/24', 'dev', 'eth0');
    await node.run('ip', 'address', 'add', '10.77.0.99/24', 'dev', 'eth0');
    for (const namespace of [node, router]) await namespace.run('ip', 'link', 'set', 'eth0', 'up');
    await node.run('ip', 'route', 'add', 'default', 'via', '10.77.0.1');
    return new RoutedNetwork(node, router);
  }

  async remove(): Promise<void> {
    await this.node.remove();
    await this.router.remove();
  }
}
