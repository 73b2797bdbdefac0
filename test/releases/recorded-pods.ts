import { makePod, serve, shell } from '../e2e/manifests.ts';

/** The manifests that every release is recorded with, by file name. */
export const recordedManifests: Readonly<Record<string, object>> = {
  'settings.json': { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { colour: 'green' } },
  'web.json': makePod('web', {
    volumes: [
      { name: 'scratch', emptyDir: {} },
      { name: 'settings', configMap: { name: 'settings' } },
    ],
    initContainers: [shell('prepare', 'echo prepared'), shell('proxy', serve, { restartPolicy: 'Always' })],
    containers: [
      shell('app', serve, {
        env: [
          { name: 'COLOUR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'colour' } } },
          { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        ],
        resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '64Mi' } },
        readinessProbe: { exec: { command: ['true'] } },
        lifecycle: { preStop: { exec: { command: ['true'] } } },
        volumeMounts: [
          { name: 'scratch', mountPath: '/scratch' },
          { name: 'settings', mountPath: '/settings' },
        ],
      }),
      // Ended once, with code 3, and was started again.
      shell('helper', serve, { securityContext: { runAsUser: 1000 } }),
    ],
  }),
  'named.json': {
    ...makePod('named', { containers: [shell('app', serve)] }),
    metadata: { name: 'named', uid: '00000000-0000-4000-8000-000000000001', labels: { app: 'named' } },
  },
  'job.json': makePod('job', { restartPolicy: 'Never', containers: [shell('main', 'echo done')] }),
};

/** Stopped by an operator. Releases that have no command for that have it running. */
export const stoppedManifest = makePod('stopped', { containers: [shell('app', serve)] });

/** Applied by an operator, where the release can. Its folder is that of the node, so that its UID is given. */
export const appliedManifest = {
  ...makePod('applied', { containers: [shell('app', serve)] }),
  metadata: { name: 'applied', uid: '00000000-0000-4000-8000-000000000002' },
};
