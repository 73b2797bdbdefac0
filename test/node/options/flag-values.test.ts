import { Command } from 'commander';
import { expect, test } from 'vitest';
import { flagValues } from '../../../src/node/options/flag-values.ts';
import { addNodeOptions } from '../../../src/node/options/node-flags.ts';
import type { NodeFlags } from '../../../src/node/options/node-options.ts';
import { addStatusURLOptions } from '../../../src/node/options/status-url-options.ts';

function valuesOf(...args: readonly string[]): Record<string, string> {
  const command = addStatusURLOptions(addNodeOptions(new Command('run')))
    .exitOverride()
    .parse(args, { from: 'user' });
  return flagValues(command.opts<NodeFlags>());
}

test('flags that were not given have their defaults, as Go prints them', () => {
  const values = valuesOf();
  const names = [
    ...['address', 'cluster-dns', 'config', 'container-log-max-size', 'cpu-cfs-quota-period', 'enable-server'],
    ...['enforce-node-allocatable', 'eviction-hard', 'feature-gates', 'log-json-info-buffer-size', 'max-pods'],
    ...['minimum-container-ttl-duration', 'sync-frequency', 'v'],
  ];
  expect(Object.fromEntries(names.map((name) => [name, values[name]]))).toEqual({
    address: '0.0.0.0',
    'cluster-dns': '[]',
    config: '',
    'container-log-max-size': '10Mi',
    'cpu-cfs-quota-period': '100ms',
    'enable-server': 'true',
    'enforce-node-allocatable': '[pods]',
    'eviction-hard':
      'imagefs.available<15%,imagefs.inodesFree<5%,memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%',
    'feature-gates': '',
    'log-json-info-buffer-size': '0',
    'max-pods': '110',
    'minimum-container-ttl-duration': '0s',
    'sync-frequency': '1m0s',
    v: '0',
  });
});

test('flags that were given have that value, and those without effect are there too', () => {
  const values = valuesOf(
    ...['--cluster-dns=10.0.0.1,10.0.0.2', '--feature-gates=NodeSwap=true,EnvFiles=false', '--sync-frequency=90s'],
    ...['--register-with-taints=dedicated=etcd:NoSchedule', '--reserved-memory=0:memory=1Gi', '--vmodule=pleg=4'],
    ...['--node-labels=a=1,b=2', '--minimum-container-ttl-duration=2m', '--kubeconfig=/etc/kubeconfig', '--v=4'],
  );
  const names = ['cluster-dns', 'feature-gates', 'kubeconfig', 'minimum-container-ttl-duration', 'node-labels'];
  const more = ['register-with-taints', 'reserved-memory', 'sync-frequency', 'v', 'vmodule'];
  expect(Object.fromEntries([...names, ...more].map((name) => [name, values[name]]))).toEqual({
    'cluster-dns': '[10.0.0.1,10.0.0.2]',
    'feature-gates': 'EnvFiles=false,NodeSwap=true',
    kubeconfig: '/etc/kubeconfig',
    'minimum-container-ttl-duration': '2m0s',
    'node-labels': 'a=1,b=2',
    'register-with-taints': 'dedicated=etcd:NoSchedule',
    'reserved-memory': '0:memory=1Gi',
    'sync-frequency': '1m30s',
    v: '4',
    vmodule: 'pleg=4',
  });
});

test('credentials are not shown', () => {
  const headers = ['--manifest-url-header=Authorization:Bearer x', '--status-url-header=Authorization:Bearer z'];
  const values = valuesOf(...headers, '--storage-driver-password=y');
  const names = ['manifest-url-header', 'status-url-header', 'storage-driver-password'];
  expect(names.map((name) => values[name])).toEqual(['CLASSIFIED', 'CLASSIFIED', 'CLASSIFIED']);
  // A token may be in the place of the user.
  const urls = valuesOf('--manifest-url=https://t0k3n@a.example/x?k=s3cret', '--status-url=https://t0k3n@b.example/y');
  expect(JSON.stringify(urls)).not.toMatch(/t0k3n|s3cret/);
  expect(urls).toMatchObject({ 'manifest-url': 'https://a.example/x?…', 'status-url': 'https://b.example/y' });
});
