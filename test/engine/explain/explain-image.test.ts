import { expect, test } from 'vitest';
import { explainImage, imageMeaning } from '../../../src/engine/explain/explain-image.ts';
import { reasons } from '../../../src/engine/view/reasons.ts';
import { makeContainer, makePod, NOW } from '../../builders/pods.ts';

test('of an image that is missing offline, all missing images and the commands that bring them are named', () => {
  const message = 'Container image "app:1" is not present, and this node is offline. The pod also lacks: init:1, db:2';
  expect(imageMeaning('app:1', message)).toEqual({
    cause: 'app:1 is not on this node, and --offline forbids a pull; the pod also lacks init:1, db:2',
    fixes: [
      'Where a registry answers: kubelet-ts images pull -f MANIFEST, then kubelet-ts images bundle -o FILE.tar MANIFEST. ' +
        'Load it here: kubelet-ts images load FILE.tar',
      'Or start kubelet-ts without --offline.',
    ],
  });
});

const refused =
  'failed to do request: Head "http://localhost/v2/app/manifests/1": dial tcp 127.0.0.1:80: connect: connection refused';
const useOwn =
  'To run the image of this node, set imagePullPolicy: IfNotPresent. See whether it has one: kubelet-ts images list';

test.each([
  ['localhost/app:1', refused, 'no registry answers at localhost'],
  ['box.example/app:1', refused, 'the registry box.example cannot be reached'],
  ['box.example/app', 'lookup box.example: no such host', 'cannot resolve box.example'],
  ['app:latest', 'toomanyrequests: rate limit', 'the registry docker.io limits the number of pulls'],
  ['app:1', 'something else', 'cannot pull app:1: something else'],
])('with the policy Always %s is not said to be missing, and IfNotPresent is named', (image, message, cause) => {
  const meaning = imageMeaning(image, message, 'Always');
  expect(meaning.cause).toBe(`${cause}; imagePullPolicy Always pulls it before each start, even if it is on this node`);
  expect(meaning.fixes[0]).toBe(useOwn);
});

test('with the policy IfNotPresent a failed pull shows that the image is missing', () => {
  expect(imageMeaning('localhost/app:1', refused, 'IfNotPresent').cause).toBe(
    'localhost/app:1 is not on this node, and no registry answers at localhost',
  );
});

test('another policy does not help a bad name', () => {
  expect(imageMeaning('App', 'invalid reference format', 'Always').fixes).toEqual([
    'Correct the name or the tag of the image. Names are lowercase: [REGISTRY/]NAME[:TAG].',
  ]);
});

test.each([
  [
    'IfNotPresent',
    reasons.imagePullBackOff,
    reasons.failed,
    'pulling it again fails: the registry r.example refuses r.example/app:1: it needs a login, or the name is wrong',
  ],
  [
    'Never',
    reasons.errImageNeverPull,
    reasons.errImageNeverPull,
    'imagePullPolicy Never forbids the pull that would check them',
  ],
  ['Always', reasons.errImageNeverPull, reasons.errImageNeverPull, '--offline forbids the pull that would check them'],
])(
  'of a present image that the pod may not use, its lack of credentials is named (%s)',
  (policy, waiting, reason, because) => {
    const image = 'r.example/app:1';
    const message = 'Failed to pull image: 401 Unauthorized';
    const state = { waiting: { reason: waiting, message } };
    const status = { name: 'main', image, imageID: '', ready: false, restartCount: 0, state };
    const event = { type: 'Recorded', at: NOW, eventType: 'Warning', reason, message, containerName: 'main' } as const;
    const finding = explainImage({
      pod: makePod({
        spec: { containers: [makeContainer({ name: 'main', image, imagePullPolicy: policy })] },
        status: { containerStatuses: [status] },
      }),
      events: [
        { ...event, cause: 'imageCredentials' },
        { ...event, reason: reasons.failed, message: 'Error' },
      ],
    });
    expect(finding?.cause).toBe(
      `r.example/app:1 is on this node, but no credentials of this pod pulled it before, and ${because}`,
    );
    expect(finding?.fixes[0]).toMatch(/^Name a Secret of type/);
  },
);
