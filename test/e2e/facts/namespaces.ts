import { hostname } from 'node:os';
import { readlinkSync } from 'node:fs';
import { makePod, serve, shell } from '../manifests.ts';
import { nodeIP } from './fact-node.ts';
import type { FactGroup } from './fact-pods.ts';

const kinds = ['pid', 'ipc', 'uts', 'mnt'] as const;

/** The namespaces that a container shares with the node. The node's network is not that of the test. */
function namespacesOfNode(...wanted: readonly (typeof kinds)[number][]): readonly [string, string] {
  const looks = kinds.map(
    (kind) => `[ "$(readlink /proc/self/ns/${kind})" != "${readlinkSync(`/proc/self/ns/${kind}`)}" ] || echo ${kind}`,
  );
  return [looks.join('\n'), wanted.join('\n')];
}

/** The names of all processes. Silently skips one that exits in the meantime. */
const processNames = 'cat /proc/[0-9]*/comm 2>/dev/null';
/** Counts the processes with this name. */
const processesNamed = (name: string): string => `${processNames} | grep -cx ${name}`;
/** The same, but waits until there is one: a shell that is Ready may not have started, or become, it yet. */
const startedProcesses = (name: string): string =>
  `until ${processNames} | grep -qx ${name}; do sleep 0.1; done; ${processesNamed(name)}`;
const httpd = 'exec httpd -f -p 8080';
const resolvConf = 'cat /etc/resolv.conf';
const isUp = "ip -4 -o addr show | awk '{ print $2 }' | tr '\\n' ' '";
const sysctl = (name: string): string => `cat /proc/sys/${name.replaceAll('.', '/')}`;

/** Network, processes and host names that are a pod's own, and those of the node. */
export const namespaces: FactGroup = {
  title: 'namespaces, names and sysctls',
  pods: () => [
    {
      name: 'isolated',
      pod: makePod('isolated', {
        hostNetwork: false,
        hostname: 'caller',
        subdomain: 'office',
        hostAliases: [
          { ip: '192.0.2.1', hostnames: ['printer', 'printer.office'] },
          { ip: '192.0.2.2', hostnames: ['camera'] },
        ],
        securityContext: {
          sysctls: [
            // The same setting, written with slashes.
            { name: 'net/ipv4/ip_unprivileged_port_start', value: '80' },
            { name: 'kernel.shm_rmid_forced', value: '1' },
            { name: 'net.core.somaxconn', value: '77' },
          ],
        },
        containers: [shell('app', serve), shell('helper', httpd)],
      }),
      facts: {
        app: {
          'no namespace is that of the node': namespacesOfNode(),
          'its command is process 1': ['cat /proc/1/comm', 'sh'],
          'it does not see the container beside it': [processesNamed('httpd'), '0'],
          'it has a network of its own': [isUp, 'lo eth0'],
          'its host name is what it says': ['hostname; cat /etc/hostname', 'caller\ncaller'],
          'its hosts file has its names and its aliases': [
            `grep -v '^#' /etc/hosts | grep -e '^[0-9]' | tr '\\t' ' ' | sed "s/^$(ip -4 -o addr show eth0 | awk '{ print $4 }' | cut -d/ -f1) /IP /"`,
            [
              '127.0.0.1 localhost',
              'IP caller.office.default.svc.cluster.local caller',
              '192.0.2.1 printer printer.office',
              '192.0.2.2 camera',
            ].join('\n'),
          ],
          'it asks the DNS of the cluster': [
            resolvConf,
            'search default.svc.cluster.local svc.cluster.local cluster.local corp.example\nnameserver 192.0.2.54\noptions ndots:5',
          ],
          'safe sysctls are set': [
            `${sysctl('net.ipv4.ip_unprivileged_port_start')}; ${sysctl('kernel.shm_rmid_forced')}`,
            '80\n1',
          ],
          'so are the unsafe ones that the node allows': [sysctl('net.core.somaxconn'), '77'],
        },
        helper: {
          'containers of a pod have one host name': ['hostname', 'caller'],
          'one network': ['readlink /proc/self/ns/net | cut -d: -f1; ip link | grep -c " eth0[@:]"', 'net\n1'],
        },
      },
    },
    {
      name: 'fqdn',
      pod: makePod('fqdn', {
        hostNetwork: false,
        subdomain: 'office',
        setHostnameAsFQDN: true,
        dnsPolicy: 'Default',
        shareProcessNamespace: true,
        containers: [shell('app', serve), shell('helper', httpd)],
      }),
      facts: {
        app: {
          'its host name is its whole name': ['hostname', 'fqdn-edge1.office.default.svc.cluster.local'],
          'dnsPolicy Default asks what the node asks': [
            resolvConf,
            'search corp.example\nnameserver 192.0.2.53\noptions timeout:3',
          ],
          'in a shared process namespace it sees the container beside it': [startedProcesses('httpd'), '1'],
          'with the sandbox as process 1': ['cat /proc/1/comm', 'pause'],
        },
        helper: {
          'each container sees the other': [`${startedProcesses('sleep')}; ${processesNamed('pause')}`, '1\n1'],
        },
      },
    },
    {
      name: 'host',
      pod: makePod('host', {
        hostNetwork: true,
        hostPID: true,
        hostIPC: true,
        dnsPolicy: 'ClusterFirstWithHostNet',
        hostAliases: [{ ip: '192.0.2.3', hostnames: ['door'] }],
        containers: [shell('app', serve)],
      }),
      facts: {
        app: {
          'processes and IPC are those of the node': namespacesOfNode('pid', 'ipc', 'uts'),
          'it sees the processes of the node': [`tr '\\0' ' ' < /proc/${process.pid}/cmdline | grep -c .`, '1'],
          'its network is that of the node': ['ip link | grep -c " eth0[@:]"', '0'],
          'its host name is that of the node': ['hostname', hostname()],
          'its hosts file is that of the node with its aliases': [
            "head -n 1 /etc/hosts; tail -n 3 /etc/hosts | tr '\\t' ' '",
            '# Kubernetes-managed hosts file (host network).\n\n# Entries added by HostAliases.\n192.0.2.3 door',
          ],
          'it asks the DNS of the cluster when it wants': [
            'grep -v search /etc/resolv.conf',
            'nameserver 192.0.2.54\noptions ndots:5',
          ],
          'its address is that of the node': [`echo ${nodeIP}`, nodeIP],
        },
      },
    },
    {
      name: 'dns',
      pod: makePod('dns', {
        hostNetwork: true,
        dnsPolicy: 'None',
        dnsConfig: {
          nameservers: ['192.0.2.55'],
          searches: ['own.example'],
          options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
        },
        containers: [shell('app', serve)],
      }),
      facts: {
        app: {
          'dnsPolicy None has what dnsConfig says': [
            resolvConf,
            'search own.example\nnameserver 192.0.2.55\noptions ndots:2 edns0',
          ],
        },
      },
    },
    {
      name: 'more-dns',
      pod: makePod('more-dns', {
        hostNetwork: true,
        dnsConfig: { nameservers: ['192.0.2.55'], options: [{ name: 'timeout', value: '9' }] },
        containers: [shell('app', serve)],
      }),
      facts: {
        app: {
          'dnsConfig is added to what the policy gives': [
            resolvConf,
            'search corp.example\nnameserver 192.0.2.53\nnameserver 192.0.2.55\noptions timeout:9',
          ],
        },
      },
    },
  ],
};
