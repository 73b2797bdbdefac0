import { expect, test } from 'vitest';
import { habitHint } from '../../../src/commands/habits/answer-habit.ts';
import { habits, smallestPod } from '../../../src/commands/habits/foreign-commands.ts';
import { loadedManifests } from '../../builders/loaded-manifests.ts';
import { commandNames } from '../../../src/commands/program.ts';

const hintFor = (line: string): string | undefined => habitHint(line.split(' '), commandNames);

test.each([
  // kubectl
  ['-n tn undo web', 'Use: kubelet-ts rollback web -n tn'],
  ['--root-dir /k pods', 'Use: kubelet-ts ps --root-dir /k'],
  ...['--container-runtime-endpoint unix:///c.sock', '--container-runtime-endpoint=unix:///c.sock'].flatMap((flag) => [
    [`${flag} pods`, `Use: kubelet-ts ps ${flag}`],
    [`pods ${flag} web`, `Use: kubelet-ts ps web ${flag}`],
  ]),
  ['--context edge pods', 'Use: kubelet-ts ps'],
  ...[
    'edit pod web',
    'label pod web tier=front',
    'annotate po web a=b',
    'patch pod web -p x',
    'set image pod/web a=b',
  ].map((line) => [
    line,
    'Edit the file that declares it; the agent applies the change. To find the file: kubelet-ts describe ' +
      (line.includes('pod/') ? 'pod/web' : 'web'),
  ]),
  ...['cluster-info', 'config view', 'auth can-i get pods'].map((line) => [
    line,
    'There is no API server here; commands ask the agent. Check this machine: kubelet-ts doctor',
  ]),
  ['api-resources', 'docs/use/workloads.md lists the supported kinds. Check a manifest: kubelet-ts validate FILE'],
  ['cordon edge1', 'There is no scheduler here. Stop all pods until you start them again: kubelet-ts stop --all'],
  ['drain edge1', 'There is no scheduler here. Stop all pods until you start them again: kubelet-ts stop --all'],
  [
    'taint nodes edge1 a=b:NoSchedule',
    'There is no scheduler here. Stop a pod until you start it again: kubelet-ts stop POD',
  ],
  ['create -f web.yaml', 'Use: kubelet-ts apply -f web.yaml'],
  ['create', 'Use: kubelet-ts apply FILE'],
  ['create configmap settings --from-file=x', 'Write it as a manifest, then kubelet-ts apply -f FILE'],
  ['kubectl get pods -o wide', 'Use: kubelet-ts get pods -o wide'],
  ['kubectl rollout undo deploy/web', 'Use: kubelet-ts rollout undo deploy/web'],
  // podman, docker, compose, crictl
  ['kube play app.yaml', 'Use: kubelet-ts run app.yaml'],
  ['play kube app.yaml', 'Use: kubelet-ts run app.yaml'],
  ['kube down app.yaml', 'Stop the agent and all its pods: kubelet-ts down'],
  ...['compose up -d', 'docker-compose up'].map((line) => [
    line,
    'Compose files are not manifests; docs/start/coming-from.md shows how to move. kubelet-ts run FILE',
  ]),
  ['compose down', 'Use: kubelet-ts down'],
  [
    'helm install web ./chart',
    'helm template prints the manifests of a chart. Write them into a file, then kubelet-ts run FILE',
  ],
  ['k logs web', 'Use: kubelet-ts logs web'],
  ...[
    'docker run -d nginx',
    'podman run nginx',
    'run nginx --image=x',
    'run -d nginx',
    'run -it --rm nginx',
    'run --name web nginx',
  ].map((line) => [line, `run reads manifests. Write ${smallestPod} into web.yaml, then kubelet-ts run web.yaml`]),
  ['save app:1', 'Use: kubelet-ts images bundle -o FILE'],
  [
    'login registry.example',
    'docs/use/images.md shows where to put registry credentials. Then kubelet-ts images pull IMAGE',
  ],
  ['build .', 'Build and push images with another tool, such as buildah. Load one: kubelet-ts images load FILE'],
  ['push app:1', 'Build and push images with another tool, such as buildah. Load one: kubelet-ts images load FILE'],
  ['pause web', 'Use: kubelet-ts stop web'],
  [
    'exec -u root web id',
    'exec runs as the user of the container. For another user or other tools: ' + 'kubelet-ts debug POD --image IMAGE',
  ],
  [
    'exec -w /srv web -- ls',
    "exec starts in the working directory of the container. Change it in the command: kubelet-ts exec POD -- sh -c 'cd FOLDER && COMMAND'",
  ],
  ['exec -it -e A=b web env', 'Set variables in the command: kubelet-ts exec POD -- env NAME=VALUE COMMAND'],
  [
    'stop -t 5 web',
    'terminationGracePeriodSeconds of the pod decides when it is killed. To limit the wait: ' +
      'kubelet-ts stop POD --timeout SECONDS',
  ],
  ['container ls', 'Use: kubelet-ts ps'],
  ['container logs web -f', 'Use: kubelet-ts logs web -f'],
  ['container inspect web', 'Use: kubelet-ts describe web'],
  ['pod', 'Use: kubelet-ts ps'],
  ['pod web', 'Use: kubelet-ts ps web'],
  ['pod rm web', 'Use: kubelet-ts delete web'],
  ['volume ls', 'Claims are volumes of pods. List them: kubelet-ts get pvc'],
  ['network ls', 'Show the addresses of pods: kubelet-ts ps -o wide'],
  ['system prune -f', 'Use: kubelet-ts images prune'],
  ['system df', 'Show the sizes of images: kubelet-ts images list'],
  ['inspectp web', 'Use: kubelet-ts describe web'],
  ['statsp', 'Use: kubelet-ts top'],
  ['ps --format x', 'Use: kubelet-ts ps -o custom-columns=NAME:.metadata.name,IP:.status.podIP'],
  ['docker ps -a', 'Use: kubelet-ts ps -a'],
  ['docker rmi app:1', 'Use: kubelet-ts images rm app:1'],
  // systemd
  ['journalctl -u web -f', 'Use: kubelet-ts logs web -f'],
  ['journal', 'Use: kubelet-ts logs POD'],
  ['enable --now kubelet-ts', 'Use: kubelet-ts install-service'],
  ['reload', 'The agent reloads changed manifests itself. To reload its configuration: systemctl reload kubelet-ts'],
  [
    'daemon-reload',
    'The agent reloads changed manifests itself. To reload its configuration: systemctl reload kubelet-ts',
  ],
  ['is-active web', 'Use: kubelet-ts wait web --timeout 0'],
  ['show web', 'Use: kubelet-ts get pod web -o yaml'],
  ['cat web', 'Use: kubelet-ts get pod web -o yaml'],
  ['systemctl status web', 'Use: kubelet-ts ps web'],
  ['install', 'Use: kubelet-ts install-service'],
  ['uninstall', 'Use: kubelet-ts uninstall-service'],
  ['info', 'Use: kubelet-ts version'],
  // mistyped
  ['lgos web -f', 'Did you mean kubelet-ts logs web -f?'],
  ['exce web -- sh', 'Did you mean kubelet-ts exec web -- sh?'],
  ['frobnicate', 'kubelet-ts --help lists all commands.'],
  ['kubectl', 'kubelet-ts --help lists all commands.'],
])('%s is answered: %s', (line, hint) => {
  expect(hintFor(line)).toBe(hint);
});

test.each(commandNames.map((name) => [name]))('%s, which is a command, is not refused', (name) => {
  expect([hintFor(name), hintFor(`${name} web -n tn`)]).toEqual([undefined, undefined]);
});

test('the manifest of the hint runs', () => {
  expect(loadedManifests(smallestPod)).toEqual({ pods: ['default/web-edge1'], configObjects: [], problems: [] });
});

test('flags of a command in a container are no flags of ours', () => {
  expect([hintFor('exec web -- id -u'), hintFor('exec -it web ls -e')]).toEqual([undefined, undefined]);
});

test('every habit names a command that exists, and undo is never a restart', () => {
  const used = habits.flatMap(({ use }) => (use === undefined ? [] : [use.split(' ', 1)[0]]));
  expect(used.filter((name) => !commandNames.includes(name ?? ''))).toEqual([]);
  const restarting = habits.filter(({ use }) => use?.startsWith('restart') === true);
  expect(restarting.map(({ typed }) => typed)).toEqual(['try-restart', 'restart']);
});
