import { expect, test } from 'vitest';
import { decodeManifest } from '../builders/load-pod.ts';

/** A pod with these lines in its only container. */
function inContainer(...lines: string[]): string {
  return inSpec('  containers:', '  - name: main', ...lines.map((line) => `    ${line}`));
}

function inSpec(...lines: string[]): string {
  return ['apiVersion: v1', 'kind: Pod', 'metadata:', '  name: web', 'spec:', ...lines, ''].join('\n');
}

const escapes = "Inside double quotes write \\\\ for a backslash and ' for a single quote, or use single quotes.";
const envsubst = 'Was this a template? Fill in its variables first: envsubst < FILE > NEW';

test.each([
  // Wrong names and wrong indentation.
  [inSpec('  hostnetwork: true'), 'Did you mean "hostNetwork"?'],
  [inSpec('  host_network: true'), 'Did you mean "hostNetwork"?'],
  [inContainer('imagePullPolcy: Never'), 'Did you mean "imagePullPolicy"?'],
  [inContainer('restart: Always'), 'Did you mean "restartPolicy"?'],
  [inContainer('frobnicate: 1'), 'Check its spelling and its indentation.'],
  [inSpec('  image: app'), '"image" belongs in containers[]: check the indentation.'],
  [inSpec('metadatas: {}'), 'Did you mean "metadata"?'],
  [inSpec('containers: []'), '"containers" belongs in spec: check the indentation.'],
  [inSpec('labels: {}'), '"labels" belongs in metadata: check the indentation.'],
  [inSpec('image: app'), '"image" belongs in spec.containers[]: check the indentation.'],
  [inContainer('volumes: []'), '"volumes" belongs in spec: check the indentation.'],
  [inContainer('mountPath: /data'), '"mountPath" belongs in volumeMounts[]: check the indentation.'],
  [
    inContainer('livenessProbe: {command: [a]}'),
    '"command" belongs in exec or spec.containers[0]: check the indentation.',
  ],
  // Fields of other kinds of volumes and handlers.
  [
    inSpec('  volumes: [{name: a, emptyDir: {claimName: x}}]'),
    '"claimName" is a field of persistentVolumeClaim, not of emptyDir.',
  ],
  [
    inSpec('  volumes: [{name: a, configMap: {secretName: x}}]'),
    '"secretName" is a field of secret, not of configMap.',
  ],
  [inSpec('  volumes: [{name: a, configMap: {pool: x}}]'), 'Check its spelling and its indentation.'],
  [inSpec('  volumes: [{name: a, nfs: {monitors: [x]}}]'), 'Check its spelling and its indentation.'],
  [inSpec('  volumes: [{name: a, path: /x}]'), '"path" belongs in hostPath or nfs: check the indentation.'],
  [
    inSpec('  volumes: [{name: a, hostPath: {path: /x, readOnly: true}}]'),
    '"readOnly" belongs in spec.containers[].volumeMounts[]: check the indentation.',
  ],
  [
    inContainer('livenessProbe: {httpGet: {command: [a]}}'),
    '"command" belongs in spec.containers[0]: check the indentation.',
  ],
  [inContainer('resources: {cpu: 1}'), '"cpu" belongs in limits or requests: check the indentation.'],
  // Wrong types.
  [inContainer('tty: "true"'), 'Remove the quotes.'],
  [inContainer('ports: [{containerPort: "80"}]'), 'Remove the quotes.'],
  [inContainer('ports: [80]'), 'Write "containerPort: 80".'],
  [inContainer('ports: {containerPort: 80}'), 'Start each item with "- ".'],
  [inContainer('env: {A: b}'), 'Write each item as "- name: …" and below it "  value: …".'],
  [inContainer('env: [A=b=c]'), 'Write "name: A" and "value: b=c".'],
  [inContainer('env: [{name: A, value: 1}]'), 'Put it in quotes: "1".'],
  [
    inContainer('env: [{name: A, value: yes}]'),
    'Put it in quotes: YAML reads y, n, yes, no, on and off as true or false, too.',
  ],
  [inContainer('command: date'), 'Write a list, such as ["sh", "-c", "date"].'],
  [inContainer('securityContext: [{runAsUser: 0}]'), 'Remove the "- ".'],
  // Quotes and templates.
  [inContainer("workingDir: 'it\\'s'"), "Inside single quotes write '' for a quote."],
  [inContainer("command: ['it's']"), "Inside single quotes write '' for a quote."],
  [inContainer('workingDir: "say "hi""'), 'Inside double quotes write \\" for a quote.'],
  [inContainer('workingDir: "it\\\'s"'), escapes],
  [inContainer('workingDir: "C:\\data"'), escapes],
  [inContainer('env: [{name: A, value: ${HOME}}]'), envsubst],
  [inContainer('ports: [{containerPort: $PORT}]'), envsubst],
  [inSpec('  terminationGracePeriodSeconds: 30s'), 'Write the number alone, without a unit.'],
  [inSpec('  imagePullSecrets: [registry]'), 'Write "name: registry".'],
  [inSpec('  volumes: [{name: data, hostPath: /data}]'), 'Write "path: /data".'],
  [inContainer('resources: {limits: {memory: 64MB}}'), 'Did you mean "64M"?'],
  [inContainer('resources: {limits: {memory: 64mib}}'), 'Did you mean "64Mi"?'],
  [inContainer('resources: {limits: {memory: 1.5gb}}'), 'Did you mean "1.5G"?'],
  [inContainer('resources: {limits: {cpu: 100 m}}'), 'Did you mean "100m"?'],
  [
    inContainer('resources: {limits: {cpu: lots}}'),
    'Suffixes are n u m k M G T P E and Ki Mi Gi Ti Pi Ei, in exactly this case.',
  ],
])('what to do about\n%s', (text, hint) => {
  expect(decodeManifest(text, '/manifests/web.yaml').problems.map((problem) => problem.hint)).toEqual([hint]);
});
