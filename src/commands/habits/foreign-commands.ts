import type { Habit } from './habit.ts';

const noAPIServer = 'There is no API server here; commands ask the agent. Check this machine:';
const editTheFile = 'Edit the file that declares it; the agent applies the change. To find the file:';
const writeAManifest = 'Write it as a manifest, then';
const otherTool = 'Build and push images with another tool, such as buildah. Load one:';

/** A pod on one line, in JSON, because text that starts with a brace is read as JSON. */
export const smallestPod =
  '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, ' +
  '"spec": {"containers": [{"name": "web", "image": "nginx"}]}}';
const manifestExample = `run reads manifests. Write ${smallestPod} into web.yaml, then`;

/** Commands of kubectl. */
const kubectl: readonly Habit[] = [
  { typed: 'undo', use: 'rollback {args|POD}' },
  {
    typed: 'autoscale',
    advice: 'Nothing changes the number of pods by their usage. Set it:',
    use: 'scale {args|deploy/web} --replicas N',
  },
  { typed: 'edit', advice: editTheFile, use: 'describe {pod|POD}' },
  { typed: 'label', advice: editTheFile, use: 'describe {pod|POD}' },
  { typed: 'annotate', advice: editTheFile, use: 'describe {pod|POD}' },
  { typed: 'patch', advice: editTheFile, use: 'describe {pod|POD}' },
  { typed: 'set image', advice: editTheFile, use: 'describe {pod|POD}' },
  { typed: 'set env', advice: editTheFile, use: 'describe {pod|POD}' },
  { typed: 'set resources', advice: editTheFile, use: 'describe {pod|POD}' },
  { typed: 'set', advice: editTheFile, use: 'describe {pod|POD}' },
  {
    typed: 'expose',
    advice: 'Declare a Service with type: NodePort, or forward a port:',
    use: 'port-forward {pod|POD} PORT',
  },
  { typed: 'create', use: 'apply {args|FILE}' },
  { typed: 'create configmap', advice: writeAManifest, use: 'apply -f FILE' },
  { typed: 'create cm', advice: writeAManifest, use: 'apply -f FILE' },
  { typed: 'create secret', advice: writeAManifest, use: 'apply -f FILE' },
  {
    typed: 'create namespace',
    advice: 'Namespaces need not be created. Set metadata.namespace, then',
    use: 'apply -f FILE',
  },
  { typed: 'create ns', advice: 'Namespaces need not be created. Set metadata.namespace, then', use: 'apply -f FILE' },
  { typed: 'create deployment', advice: manifestExample, use: 'apply -f web.yaml' },
  { typed: 'create deploy', advice: manifestExample, use: 'apply -f web.yaml' },
  { typed: 'create job', advice: manifestExample, use: 'run-once web.yaml' },
  { typed: 'replace', use: 'apply {args|FILE}' },
  { typed: 'kustomize', use: 'validate --defaulted -k {args|FOLDER}' },
  { typed: 'template', use: 'validate --defaulted {args|FILE}' },
  {
    typed: 'helm',
    advice: 'helm template prints the manifests of a chart. Write them into a file, then',
    use: 'run FILE',
  },
  { typed: 'cluster-info', advice: noAPIServer, use: 'doctor' },
  { typed: 'config', advice: noAPIServer, use: 'doctor' },
  { typed: 'auth', advice: noAPIServer, use: 'doctor' },
  { typed: 'proxy', advice: noAPIServer, use: 'doctor' },
  { typed: 'certificate', advice: noAPIServer, use: 'doctor' },
  {
    typed: 'api-resources',
    advice: 'docs/use/workloads.md lists the supported kinds. Check a manifest:',
    use: 'validate FILE',
  },
  {
    typed: 'api-versions',
    advice: 'docs/use/workloads.md lists the supported kinds. Check a manifest:',
    use: 'validate FILE',
  },
  {
    typed: 'cordon',
    advice: 'There is no scheduler here. Stop all pods until you start them again:',
    use: 'stop --all',
  },
  {
    typed: 'drain',
    advice: 'There is no scheduler here. Stop all pods until you start them again:',
    use: 'stop --all',
  },
  { typed: 'uncordon', advice: 'There is no scheduler here. Start stopped pods:', use: 'start --all' },
  { typed: 'taint', advice: 'There is no scheduler here. Stop a pod until you start it again:', use: 'stop POD' },
  { typed: 'pods', use: 'ps {args}' },
  { typed: 'po', use: 'ps {args}' },
  { typed: 'node', use: 'top node' },
  { typed: 'nodes', use: 'top node' },
  { typed: 'event', use: 'events {args}' },
  { typed: 'log', use: 'logs {args|POD}' },
];

/** Commands of podman, docker and docker compose. */
const podman: readonly Habit[] = [
  { typed: 'kube play', use: 'run {args|FILE}' },
  { typed: 'play kube', use: 'run {args|FILE}' },
  { typed: 'kube apply', use: 'apply {args|FILE}' },
  { typed: 'kube down', advice: 'Stop the agent and all its pods:', use: 'down' },
  { typed: 'kube generate', use: 'get pod {args|POD} -o yaml' },
  { typed: 'generate kube', use: 'get pod {args|POD} -o yaml' },
  { typed: 'kube', use: 'run FILE' },
  { typed: 'play', use: 'run {args|FILE}' },
  { typed: 'up', use: 'run {args|FILE}' },
  ...['compose', 'docker-compose', 'podman-compose'].map((typed) => ({
    typed,
    advice: 'Compose files are not manifests; docs/start/coming-from.md shows how to move.',
    use: 'run FILE',
  })),
  ...['docker', 'podman', 'nerdctl'].map((name) => ({
    typed: `${name} run`,
    advice: manifestExample,
    use: 'run web.yaml',
  })),
  { typed: 'compose down', use: 'down' },
  { typed: 'compose ps', use: 'ps' },
  { typed: 'compose logs', use: 'logs {args|POD}' },
  { typed: 'volume', advice: 'Claims are volumes of pods. List them:', use: 'get pvc' },
  { typed: 'network', advice: 'Show the addresses of pods:', use: 'ps -o wide' },
  { typed: 'system prune', use: 'images prune' },
  { typed: 'system df', advice: 'Show the sizes of images:', use: 'images list' },
  { typed: 'system', advice: 'Check this machine:', use: 'doctor' },
  { typed: 'save', use: 'images bundle -o FILE' },
  { typed: 'export', advice: 'Copy files out of a container:', use: 'cp POD:PATH PATH' },
  {
    typed: 'login',
    advice: 'docs/use/images.md shows where to put registry credentials. Then',
    use: 'images pull IMAGE',
  },
  {
    typed: 'logout',
    advice: 'docs/use/images.md shows where to put registry credentials. Then',
    use: 'images pull IMAGE',
  },
  { typed: 'build', advice: otherTool, use: 'images load FILE' },
  { typed: 'buildx', advice: otherTool, use: 'images load FILE' },
  { typed: 'push', advice: otherTool, use: 'images load FILE' },
  { typed: 'commit', advice: otherTool, use: 'images load FILE' },
  { typed: 'pull', use: 'images pull {args|IMAGE}' },
  { typed: 'load', use: 'images load {args|FILE}' },
  { typed: 'prune', use: 'images prune' },
  { typed: 'tag', use: 'images tag {args|IMAGE NAME}' },
  { typed: 'rmi', use: 'images rm {args|IMAGE}' },
  { typed: 'pause', use: 'stop {args|POD}' },
  { typed: 'unpause', use: 'start {args|POD}' },
  { typed: 'kill', use: 'stop {args|POD}' },
  { typed: 'rm', use: 'delete {args|POD}' },
  { typed: 'remove', use: 'delete {args|POD}' },
  { typed: 'inspect', use: 'describe {args|POD}' },
  { typed: 'port', use: 'describe {args|POD}' },
  { typed: 'stats', use: 'top {args}' },
  { typed: 'sh', use: 'exec -it {args|POD} -- sh' },
  { typed: 'shell', use: 'exec -it {args|POD} -- sh' },
  { typed: 'ls', use: 'ps {args}' },
  { typed: 'list', use: 'ps {args}' },
];

/** Commands of crictl, where pods and containers have names that end in p and c. */
const crictl: readonly Habit[] = [
  { typed: 'inspectp', use: 'describe {args|POD}' },
  { typed: 'inspecti', use: 'images list -o json' },
  { typed: 'imagefsinfo', use: 'top node' },
  { typed: 'statsp', use: 'top {args}' },
  { typed: 'metricsp', use: 'top {args}' },
  { typed: 'runp', use: 'run FILE' },
  { typed: 'stopp', use: 'stop {args|POD}' },
  { typed: 'rmp', use: 'delete {args|POD}' },
];

/** Commands of systemctl, journalctl and of package managers. */
const systemd: readonly Habit[] = [
  { typed: 'journalctl', use: 'logs {args|POD}' },
  { typed: 'journal', use: 'logs {args|POD}' },
  { typed: 'enable', use: 'install-service' },
  { typed: 'disable', use: 'uninstall-service' },
  {
    typed: 'reload',
    advice: 'The agent reloads changed manifests itself. To reload its configuration: systemctl reload kubelet-ts',
  },
  {
    typed: 'daemon-reload',
    advice: 'The agent reloads changed manifests itself. To reload its configuration: systemctl reload kubelet-ts',
  },
  { typed: 'try-restart', use: 'restart {args|POD}' },
  { typed: 'is-active', use: 'wait {args|POD} --timeout 0' },
  { typed: 'is-failed', use: 'explain {args|POD}' },
  { typed: 'list-units', use: 'ps' },
  { typed: 'status', use: 'ps {args}' },
  { typed: 'show', use: 'get pod {args|POD} -o yaml' },
  { typed: 'cat', use: 'get pod {args|POD} -o yaml' },
  { typed: 'install', use: 'install-service' },
  { typed: 'uninstall', use: 'uninstall-service' },
  { typed: 'update', advice: editTheFile, use: 'describe {pod|POD}' },
];

/** Words that people expect here. */
const others: readonly Habit[] = [
  { typed: 'why', use: 'explain {args|POD}' },
  { typed: 'screen', use: 'ui' },
  { typed: 'tui', use: 'ui' },
  { typed: 'lint', use: 'validate {args|FILE}' },
  { typed: 'check', use: 'validate {args|FILE}' },
  { typed: 'deploy', use: 'apply {args|FILE}' },
  { typed: 'info', use: 'version' },
  { typed: 'config-check', use: 'validate {args|FILE}' },
];

/** Flags that other programs have for a command of the same name. */
const flags: readonly Habit[] = [
  {
    typed: 'run',
    flags: ['--image', '-d', '--detach', '-i', '-t', '-it', '-ti', '-dit', '--rm', '--name', '-p', '-e'],
    advice: manifestExample,
    use: 'run web.yaml',
  },
  {
    typed: 'exec',
    flags: ['-u', '--user'],
    advice: 'exec runs as the user of the container. For another user or other tools:',
    use: 'debug POD --image IMAGE',
  },
  {
    typed: 'exec',
    flags: ['-w', '--workdir'],
    advice: 'exec starts in the working directory of the container. Change it in the command:',
    use: "exec POD -- sh -c 'cd FOLDER && COMMAND'",
  },
  {
    typed: 'exec',
    flags: ['-e', '--env'],
    advice: 'Set variables in the command:',
    use: 'exec POD -- env NAME=VALUE COMMAND',
  },
  {
    typed: 'exec',
    flags: ['-d', '--detach'],
    advice: 'Run it in the background:',
    use: "exec POD -- sh -c 'COMMAND &'",
  },
  {
    typed: 'stop',
    flags: ['-t', '--time'],
    advice: 'terminationGracePeriodSeconds of the pod decides when it is killed. To limit the wait:',
    use: 'stop POD --timeout SECONDS',
  },
  {
    typed: 'restart',
    flags: ['-t', '--time'],
    advice: 'terminationGracePeriodSeconds of the pod decides when it is killed. To limit the wait:',
    use: 'restart POD --timeout SECONDS',
  },
  { typed: 'ps', flags: ['--format'], use: 'ps -o custom-columns=NAME:.metadata.name,IP:.status.podIP' },
  {
    typed: 'ps',
    flags: ['--filter'],
    advice: 'Filter by labels or fields:',
    use: 'ps -l app=web --field-selector status.phase=Running',
  },
  { typed: 'ps', flags: ['--no-trunc'], use: 'ps -o wide' },
];

/** Commands that users of other programs type, and what to use here. */
export const habits: readonly Habit[] = [...kubectl, ...podman, ...crictl, ...systemd, ...others, ...flags];

/** Args that name a program or a kind of object before a command. Only the args after them count. */
export const droppedArgs: readonly string[] = [
  ...['kubelet-ts', 'kubectl', 'k', 'oc', 'podman', 'docker', 'nerdctl', 'crictl', 'systemctl', 'sudo'],
  ...['container', 'containers', 'pod'],
];
