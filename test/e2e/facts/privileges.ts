import { existsSync, readdirSync, statSync } from 'node:fs';
import type { Container } from '../../../src/api/types.ts';
import { makePod, serve, shell } from '../manifests.ts';
import type { FactMachine } from './fact-machine.ts';
import type { FactGroup, Facts } from './fact-pods.ts';

type SecurityContext = NonNullable<Container['securityContext']>;

const container = (name: string, securityContext: SecurityContext): Container =>
  shell(name, serve, { securityContext });

/** Numbers of capabilities, as in the kernel's capability.h. */
const chown = 1n << 0n;
const netAdmin = 1n << 12n;
const sysAdmin = 1n << 21n;
/** What runtimes give to every container: 14 capabilities, CHOWN to AUDIT_WRITE plus SETFCAP. */
const ofEveryContainer = 0xa80425fbn;

const sets = ['CapEff', 'CapPrm', 'CapBnd', 'CapInh', 'CapAmb'] as const;
type CapabilitySets = Record<(typeof sets)[number], bigint>;

/** The capabilities of process 1. */
function capabilities(wanted: Partial<CapabilitySets>): readonly [string, string] {
  const see = `for set in ${sets.join(' ')}; do grep $set: /proc/1/status | tr '\\t' ' '; done`;
  return [see, sets.map((set) => `${set}: ${(wanted[set] ?? 0n).toString(16).padStart(16, '0')}`).join('\n')];
}

const root = (all: bigint): Partial<CapabilitySets> => ({ CapEff: all, CapPrm: all, CapBnd: all });

const status = (field: string, is: string): readonly [string, string] => [
  `awk '$1 == "${field}:" { print $2 }' /proc/1/status`,
  is,
];

const unconfined: Facts = { 'no system call is filtered': status('Seccomp', '0') };

/** The file with the profile of the container `own-profile`. */
export const seccompProfileName = 'profiles/no-mkdir.json';
export const seccompProfile = {
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO', errnoRet: 13 }],
};

/** What a container is permitted to do. The node has --seccomp-default. */
export const privileges: FactGroup = {
  title: 'capabilities, privileges, seccomp and protected paths',
  pods: (machine) => [
    {
      name: 'privileges',
      pod: makePod('privileges', {
        containers: [
          shell('plain', serve),
          container('dropped', { capabilities: { drop: ['ALL'] }, allowPrivilegeEscalation: false }),
          container('added', { capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } }),
          container('all-but-one', { capabilities: { add: ['ALL'], drop: ['CHOWN'] } }),
          container('user', { runAsUser: 1000, capabilities: { add: ['SYS_ADMIN'] } }),
          container('unconfined', { seccompProfile: { type: 'Unconfined' } }),
          container('runtime-default', { seccompProfile: { type: 'RuntimeDefault' } }),
          container('own-profile', { seccompProfile: { type: 'Localhost', localhostProfile: seccompProfileName } }),
          container('read-only', { readOnlyRootFilesystem: true }),
        ],
      }),
      facts: {
        plain: {
          'capabilities are those of every container': capabilities(root(ofEveryContainer)),
          'new privileges can be had': status('NoNewPrivs', '0'),
          'a container without a profile is filtered as the node says': status('Seccomp', '2'),
          ...protectedPaths,
        },
        dropped: {
          'drop ALL leaves no capability': capabilities({}),
          'new privileges cannot be had': status('NoNewPrivs', '1'),
          'chown is refused': ['touch /tmp/x; chown 1 /tmp/x', 'chown: /tmp/x: Operation not permitted'],
        },
        added: { 'what is added comes after what is dropped': capabilities(root(netAdmin)) },
        'all-but-one': { 'add ALL but one': capabilities(root(machine.capabilities & ~chown)) },
        user: {
          'the capabilities of another user than root are only a bound': capabilities({
            CapBnd: ofEveryContainer | sysAdmin,
          }),
        },
        unconfined,
        'runtime-default': { 'system calls are filtered': status('Seccomp', '2') },
        'own-profile': {
          'the profile of the node does what it says': [
            'mkdir /tmp/x',
            "mkdir: can't create directory '/tmp/x': Permission denied",
          ],
        },
        'read-only': {
          'its root file system cannot be written': ['touch /x', 'touch: /x: Read-only file system'],
          'nor can its folders': ['touch /etc/x', 'touch: /etc/x: Read-only file system'],
          'what is mounted can': ['echo x > /dev/shm/x && cat /dev/shm/x', 'x'],
        },
      },
    },
    {
      name: 'privileged',
      pod: makePod('privileged', { containers: [container('app', { privileged: true })] }),
      facts: { app: privilegedFacts(machine) },
    },
  ],
};

/** Paths that the node hides from containers, if the machine has them. */
const masked = ['acpi', 'kcore', 'keys', 'timer_list', 'scsi'].map((name) => `/proc/${name}`).concat('/sys/firmware');
/** Paths of the machine that only a privileged container can write to. */
const readOnly = ['bus', 'fs', 'irq', 'sys'].map((name) => `/proc/${name}`).concat('/sys');

/** On some machines, a folder of these is empty anyway. */
const isThere = (path: string): boolean =>
  existsSync(path) && !(statSync(path).isDirectory() && readdirSync(path).length === 0);
const lines = (paths: readonly string[], word: string): string => paths.map((path) => `${path} ${word}`).join('\n');

/** A masked file is /dev/null, a masked folder is empty. */
const lookAtMasked = `for path in ${masked.filter(isThere).join(' ')}; do
  if [ "$(stat -c %t:%T $path)" = 1:3 ] || { [ -d $path ] && [ -z "$(ls $path)" ]; }; then
    echo $path hidden
  else
    echo $path shown
  fi
done`;

/** The first option of the mount at each path. */
const lookAtMounts = `for path in ${readOnly.join(' ')}; do
  awk -v path=$path '$5 == path { print path, substr($6, 1, 2) }' /proc/self/mountinfo
done`;

const protectedPaths: Facts = {
  'files and folders of /proc and /sys are hidden': [lookAtMasked, lines(masked.filter(isThere), 'hidden')],
  'others are read-only': [lookAtMounts, lines(readOnly, 'ro')],
  'sysctls cannot be written': [
    'echo 1 > /proc/sys/kernel/panic',
    "sh: can't create /proc/sys/kernel/panic: Read-only file system",
  ],
  'cgroups cannot be made': [
    'for folder in /sys/fs/cgroup/pids /sys/fs/cgroup; do [ ! -d $folder ] || break; done; mkdir $folder/x 2>&1 | cut -d: -f3',
    'Read-only file system',
  ],
  'devices are those of every container': [
    'ls /dev | grep -vx core | tr "\n" " "',
    'fd full mqueue null ptmx pts random shm stderr stdin stdout termination-log tty urandom zero',
  ],
  'no other device can be made use of': [
    'mknod /tmp/kmsg c 1 11 && head -c 1 /tmp/kmsg',
    'head: /tmp/kmsg: Operation not permitted',
  ],
};

function privilegedFacts({ capabilities: all }: FactMachine): Facts {
  // Each container that has a console gets its own console device.
  const devices = readdirSync('/dev', { withFileTypes: true }).filter((entry) => entry.isCharacterDevice());
  const names = devices.map(({ name }) => name).filter((name) => name !== 'console');
  return {
    'every capability of the machine': capabilities(root(all)),
    ...unconfined,
    'files and folders of /proc and /sys are not hidden': [lookAtMasked, lines(masked.filter(isThere), 'shown')],
    'none is read-only': [lookAtMounts, '/sys rw'],
    'it has the devices of the machine': [`for d in ${names.join(' ')}; do [ -c /dev/$d ] || echo no $d; done`, ''],
    'and may use any': ['mknod /tmp/full c 1 7 && echo x > /tmp/full', 'sh: write error: No space left on device'],
  };
}
