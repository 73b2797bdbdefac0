import type { Container } from '../../../src/api/types.ts';
import { makePod, serve, shell } from '../manifests.ts';
import { namedUserImage, numericUserImage } from './fact-images.ts';
import { nodeIP } from './fact-node.ts';
import type { FactGroup } from './fact-pods.ts';

const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
const resource = (name: string, path: string, divisor: string) => ({
  name,
  valueFrom: { resourceFieldRef: { resource: path, divisor } },
});

const app: Container = {
  ...shell('app', serve),
  resources: { requests: { cpu: '1m', memory: '1Mi' }, limits: { cpu: '1500m', memory: '96Mi' } },
  envFrom: [
    { configMapRef: { name: 'colors' } },
    { prefix: 'DB_', secretRef: { name: 'login' } },
    { prefix: 'NO_', configMapRef: { name: 'nobody-declares-it', optional: true } },
  ],
  env: [
    { name: 'FIRST', value: 'one' },
    { name: 'SECOND', value: '$(FIRST) and two' },
    { name: 'EARLY', value: '$(LATE)' },
    { name: 'LATE', value: 'late' },
    { name: 'ESCAPED', value: '$$(FIRST) $FIRST $(' },
    { name: 'FIRST', value: 'overwritten' },
    { name: 'sky', value: '$(sky) and grey' },
    { name: 'EMPTY' },
    { name: 'KEY', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
    { name: 'NONE', valueFrom: { configMapKeyRef: { name: 'colors', key: 'sea', optional: true } } },
    field('POD', 'metadata.name'),
    field('NAMESPACE', 'metadata.namespace'),
    field('POD_UID', 'metadata.uid'),
    field('LABEL', "metadata.labels['tier']"),
    field('NODE', 'spec.nodeName'),
    field('HOST_IP', 'status.hostIP'),
    field('POD_IP', 'status.podIP'),
    resource('CPU', 'limits.cpu', '1'),
    resource('MILLICPU', 'limits.cpu', '1m'),
    resource('MEMORY', 'limits.memory', '1Mi'),
    resource('ASKED', 'requests.memory', '1'),
    resource('DISK', 'requests.ephemeral-storage', '1'),
  ],
};

const shown = (names: string): string => `for name in ${names}; do env | grep "^$name=" || echo no $name; done`;

/** Prints the command line of process 1, with each argument in brackets. */
const words = `tr '\\0' '\\n' < /proc/1/cmdline | while read -r word; do printf '[%s] ' "$word"; done`;

/** Variables, commands and what the image sets for them. */
export const environment: FactGroup = {
  title: 'environment, command and working directory',
  pods: () => [
    {
      name: 'variables',
      pod: {
        ...makePod('variables', { containers: [app] }),
        metadata: { name: 'variables', uid: 'a-uid-of-its-own', labels: { tier: 'front' } },
      },
      facts: {
        app: {
          'a variable takes earlier ones in': [shown('SECOND'), 'SECOND=one and two'],
          'and no later ones': [shown('EARLY LATE'), 'EARLY=$(LATE)\nLATE=late'],
          'only $(NAME) is a reference, and $$ is none': [shown('ESCAPED'), 'ESCAPED=$(FIRST) $FIRST $('],
          'the last of a name wins': [shown('FIRST'), 'FIRST=overwritten'],
          'env wins over envFrom and takes its value in': [shown('sky'), 'sky=blue and grey'],
          'envFrom brings every key': [shown('grass'), 'grass=green'],
          'with its prefix': [shown('DB_user DB_password user'), 'DB_user=admin\nDB_password=hunter2\nno user'],
          'an optional object that is not there brings none': ['env | grep -c ^NO_', '0'],
          'a variable without a value is empty': [shown('EMPTY'), 'EMPTY='],
          'a key of a Secret': [shown('KEY'), 'KEY=hunter2'],
          'an optional key that is not there is no variable': [shown('NONE'), 'no NONE'],
          'fields of the pod': [
            shown('POD NAMESPACE POD_UID LABEL'),
            'POD=variables-edge1\nNAMESPACE=default\nPOD_UID=a-uid-of-its-own\nLABEL=front',
          ],
          'fields of the node': [shown('NODE HOST_IP POD_IP'), `NODE=edge1\nHOST_IP=${nodeIP}\nPOD_IP=${nodeIP}`],
          'resources are rounded up to whole divisors': [
            shown('CPU MILLICPU MEMORY ASKED DISK'),
            'CPU=2\nMILLICPU=1500\nMEMORY=96\nASKED=1048576\nDISK=0',
          ],
          'there are no variables of services': ['env | grep -c _SERVICE_', '0'],
          'the host name is in HOSTNAME': ['[ "$HOSTNAME" = "$(hostname)" ] && echo yes', 'yes'],
        },
      },
    },
    {
      name: 'commands',
      pod: makePod('commands', {
        containers: [
          { name: 'of-image', image: numericUserImage },
          { name: 'args', image: numericUserImage, args: ['sleep 1234; exit'], workingDir: '/tmp-made' },
          {
            name: 'command',
            image: namedUserImage,
            command: ['sh', '-c', 'sleep "$0"; exit'],
            args: ['$(TIME)', '$(NO)', '$$(TIME)'],
            env: [
              { name: 'TIME', value: '4321' },
              { name: 'COLOR', value: 'of the pod' },
            ],
          },
        ],
      }),
      facts: {
        'of-image': {
          'entrypoint and arguments are those of the image': [words, '[sh] [-c] [sleep 3600; exit]'],
          'the working directory is that of the image': ['pwd', '/srv'],
          'variables are those of the image': ['echo $COLOR, $SIZE', 'of the image, of the image'],
        },
        args: {
          'args replace only the arguments': [words, '[sh] [-c] [sleep 1234; exit]'],
          'a working directory is made': ['pwd; stat -c %u .', '/tmp-made\n0'],
        },
        command: {
          'a command replaces all, with its variables': [
            words,
            '[sh] [-c] [sleep "$0"; exit] [4321] [$(NO)] [$(TIME)]',
          ],
          'without a working directory it is the root': ['pwd', '/'],
          'variables win over those of the image': ['echo $COLOR, $SIZE', 'of the pod, of the image'],
        },
      },
    },
    {
      name: 'streams',
      pod: makePod('streams', {
        containers: [
          shell('plain', serve),
          shell('stdin', serve, { stdin: true }),
          shell('terminal', serve, { stdin: true, tty: true }),
        ],
      }),
      facts: {
        plain: {
          'stdin is empty': ['readlink /proc/1/fd/0', '/dev/null'],
          'output goes to pipes': [output, 'pipe pipe'],
        },
        stdin: { 'stdin is a pipe': ['readlink /proc/1/fd/0 | cut -d: -f1', 'pipe'] },
        terminal: {
          'stdin and output are one terminal': [
            'for fd in 0 1 2; do readlink /proc/1/fd/$fd; done | sort -u',
            '/dev/pts/0',
          ],
          'it has a console': ['[ -c /dev/console ] && echo yes', 'yes'],
          'TERM is set': ["tr '\\0' '\\n' < /proc/1/environ | grep TERM", 'TERM=xterm'],
        },
      },
    },
  ],
};

const output = 'for fd in 1 2; do readlink /proc/1/fd/$fd | cut -d: -f1; done | tr "\\n" " "';
