import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SecretValues } from '../../../src/engine/redaction/secret-values.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ConfigObject } from '../../../src/api/values/config-object.ts';
import type { Container } from '../../../src/api/types.ts';
import { BackOff } from '../../../src/flow/back-off.ts';
import { ConfigObjects } from '../../../src/engine/config-objects/config-objects.ts';
import { podEventRecorder } from '../../../src/engine/view/event-recorder.ts';
import { ContainerStartError } from '../../../src/engine/container/container-start-error.ts';
import type { DockerConfig } from '../../../src/engine/images/docker-config.ts';
import { type AskedImages, ImageManager } from '../../../src/engine/images/image-manager.ts';
import type { LayerIngest } from '../../../src/engine/images/layer-ingests.ts';
import { PullCredentials } from '../../../src/engine/images/pull-credentials.ts';
import { PullRecords } from '../../../src/engine/images/pull-records.ts';
import { PullWatch } from '../../../src/engine/images/pull-watch.ts';
import { makeSecret } from '../../builders/config-objects.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';
import { EventRecorder } from '../../fakes/event-recorder.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let clock: FakeClock;
let runtime: FakeRuntime;
let events: EventRecorder;
let manager: ImageManager;
let configObjects: ConfigObjects;
let nodeCredentials: DockerConfig;
let secrets: SecretValues;
let pullWatch: PullWatch;
/** What containerd is fetching; undefined: there is no telling. */
let ingests: LayerIngest[] | undefined;

beforeEach(() => {
  clock = new FakeClock();
  runtime = new FakeRuntime({ clock });
  events = new EventRecorder(clock);
  configObjects = new ConfigObjects();
  nodeCredentials = new Map();
  secrets = new SecretValues();
  ingests = undefined;
  pullWatch = new PullWatch({ readIngests: () => Promise.resolve(ingests), clock, emit: events.emit });
  manager = makeManager(1);
});

const makeManager = (
  maxParallelPulls: number,
  rate = { registryPullQPS: 0, registryBurst: 0 },
  isOffline = false,
  pullRecords?: PullRecords,
): ImageManager =>
  new ImageManager({
    imageService: runtime,
    backOff: new BackOff(clock),
    clock,
    settings: {
      maxParallelPulls,
      ...rate,
      isOffline,
      gc: { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 0, maxAgeMs: 0 },
    },
    pullProgress: () => Promise.resolve(undefined),
    pullWatch,
    pullRecords,
    credentials: new PullCredentials({
      secrets,
      configObjects,
      nodeCredentials: () => Promise.resolve([nodeCredentials]),
    }),
  });

const pod = makePod({ metadata: { uid: 'u1', annotations: { note: 'x' } } });

function ensure(
  container: Partial<Container>,
  signal = new AbortController().signal,
  askedImages?: AskedImages,
): Promise<string> {
  const request = {
    askedImages,
    pod,
    container: makeContainer({ image: 'app:1', ...container }),
    sandboxConfig: { metadata: { name: 'web' } },
    recorder: podEventRecorder(events.emit, pod),
    signal,
  };
  return manager.ensureImageExists(request).then(({ repoTags }) => repoTags[0] ?? '');
}

/** Why it failed: `reason: message`, and for how long it backs off. */
async function failure(container: Partial<Container>): Promise<{ text: string; retryInMs?: number }> {
  try {
    await ensure(container);
  } catch (error) {
    if (!(error instanceof ContainerStartError)) throw error;
    const text = `${error.reason}: ${error.message}`;
    return error.retryAtMonotonic === undefined
      ? { text }
      : { text, retryInMs: error.retryAtMonotonic - clock.monotonic() };
  }
  throw new Error('It did not fail');
}

const recorded = (): string[] =>
  events.events.flatMap((event) =>
    event.type === 'Recorded' ? [`${event.eventType} ${event.reason}: ${event.message}`] : [],
  );

const pulls = (): string[] => runtime.requestsOf('pullImage').map(({ image }) => image?.image ?? '');

test('an image asked for ahead is not asked for again by the first start that needs it', async () => {
  runtime.addImage('app:1');
  const container = makeContainer({ image: 'app:1', imagePullPolicy: 'IfNotPresent' });
  const { signal } = new AbortController();
  const asked = manager.requestStatus(container, signal);
  const asks = [runtime.requestsOf('imageStatus').length];
  for (const name of ['first', 'second']) {
    await ensure({ ...container, name }, signal, asked);
    asks.push(runtime.requestsOf('imageStatus').length);
  }
  expect(asks).toEqual([1, 1, 2]);
});

test('an image that is pulled always is not asked for ahead', () => {
  const container = makeContainer({ image: 'app:1', imagePullPolicy: 'Always' });
  expect(manager.requestStatus(container, new AbortController().signal)).toEqual(new Map());
  expect(runtime.requestsOf('imageStatus')).toEqual([]);
});

describe('the pull policy', () => {
  test('IfNotPresent takes the image that is there', async () => {
    runtime.addImage('app:1');
    expect(await ensure({ imagePullPolicy: 'IfNotPresent' })).toBe('app:1');
    expect(pulls()).toEqual([]);
    expect(recorded()).toEqual(['Normal Pulled: Container image "app:1" already present on machine']);
  });

  test('IfNotPresent pulls the image that is not', async () => {
    runtime.latency('pullImage', 1250);
    const pulled = ensure({ imagePullPolicy: 'IfNotPresent' });
    await runtime.waitForCall('pullImage');
    await clock.advance(1250);
    expect(await pulled).toBe('app:1');
    expect(recorded()).toEqual([
      'Normal Pulling: Pulling image "app:1"',
      'Normal Pulled: Successfully pulled image "app:1" in 1.25s (1.25s including waiting). Image size: 1000000 bytes.',
    ]);
  });

  test('Always pulls also what is there', async () => {
    runtime.addImage('app:1');
    await ensure({ imagePullPolicy: 'Always' });
    expect(pulls()).toEqual(['app:1']);
  });

  test('Never pulls nothing: what is not there is an error', async () => {
    expect(await failure({ imagePullPolicy: 'Never' })).toEqual({
      text: 'ErrImageNeverPull: Container image "app:1" is not present with pull policy of Never',
    });
    runtime.addImage('app:1');
    expect(await ensure({ imagePullPolicy: 'Never' })).toBe('app:1');
    expect(pulls()).toEqual([]);
  });
});

describe('a pull', () => {
  test('is asked for with the tag it means, the sandbox and the annotations of the pod', async () => {
    await ensure({ image: 'app', imagePullPolicy: 'IfNotPresent' });
    expect(runtime.requestsOf('pullImage')).toMatchObject([
      { image: { image: 'app:latest', annotations: { note: 'x' } }, sandboxConfig: { metadata: { name: 'web' } } },
    ]);
  });

  test('waits for its turn, and says how long', async () => {
    runtime.latency('pullImage', 1000);
    const first = ensure({ image: 'one:1' });
    const second = ensure({ image: 'two:1' });
    await clock.advance(500);
    expect(pulls()).toEqual(['one:1']);
    await clock.advance(1500);
    await Promise.all([first, second]);
    expect(pulls()).toEqual(['one:1', 'two:1']);
    expect(recorded().at(-1)).toBe(
      'Normal Pulled: Successfully pulled image "two:1" in 1s (2s including waiting). Image size: 1000000 bytes.',
    );
  });

  test('has company when several may run', async () => {
    manager = makeManager(2);
    runtime.hang('pullImage');
    for (const image of ['one:1', 'two:1', 'three:1']) ensure({ image }).catch(() => undefined);
    await clock.advance(0);
    expect(pulls()).toEqual(['one:1', 'two:1']);
  });

  test('that comes too soon after many others fails, and is tried again after its back-off', async () => {
    manager = makeManager(1, { registryPullQPS: 1, registryBurst: 2 });
    await ensure({ image: 'one:1' });
    await ensure({ image: 'two:1' });
    expect(await failure({ image: 'three:1' })).toEqual({ text: 'ErrImagePull: pull QPS exceeded' });
    await clock.advance(10_000);
    await ensure({ image: 'three:1' });
    expect(pulls()).toEqual(['one:1', 'two:1', 'three:1']);
  });

  test('that waits and is not wanted any more is not begun', async () => {
    const release = runtime.hang('pullImage');
    const first = ensure({ image: 'one:1' });
    const stopping = new AbortController();
    const second = ensure({ image: 'two:1' }, stopping.signal);
    await runtime.waitForCall('pullImage');
    stopping.abort(new Error('the pod goes'));
    release();
    await first;
    await expect(second).rejects.toThrow('the pod goes');
    expect(pulls()).toEqual(['one:1']);
  });

  test('that waits and is not wanted any more holds up nobody until its turn comes', async () => {
    const release = runtime.hang('pullImage');
    const first = ensure({ image: 'one:1' });
    await runtime.waitForCall('pullImage');
    const stopping = new AbortController();
    let ended = '';
    const second = ensure({ image: 'two:1' }, stopping.signal).catch((error: unknown) => {
      ended = String(error);
    });
    await clock.advance(0);
    stopping.abort(new Error('the pod goes'));
    await clock.advance(0);
    expect(ended).toBe('Error: the pod goes');
    release();
    await Promise.all([first, second]);
  });

  test('that is aborted is not a failure of the image', async () => {
    const release = runtime.hang('pullImage');
    const stopping = new AbortController();
    const pulling = ensure({}, stopping.signal);
    await runtime.waitForCall('pullImage');
    stopping.abort(new Error('the pod goes'));
    await expect(pulling).rejects.toThrow('the pod goes');
    release();
    expect(await ensure({})).toBe('app:1');
  });
});

describe('a failure', () => {
  const refused = new Refusal(codes.unknown, 'connection refused');

  test('of a pull backs off for 10 s, then 20 s, up to 5 min, each time counted from the failure', async () => {
    runtime.injectError('pullImage', refused, { times: Infinity });
    const waits: number[] = [];
    for (let round = 0; round < 7; round++) {
      expect(await failure({})).toEqual({ text: 'ErrImagePull: connection refused' });
      const { retryInMs = 0 } = await failure({});
      waits.push(retryInMs);
      await clock.advance(retryInMs - 1);
      expect((await failure({})).text).toMatch(/^ImagePullBackOff: /);
      await clock.advance(1);
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    expect(pulls()).toHaveLength(7);
  });

  test('is told in the back-off, and each step of it in an event', async () => {
    runtime.injectError('pullImage', refused);
    await failure({});
    expect(await failure({})).toEqual({
      text: 'ImagePullBackOff: Back-off pulling image "app:1": ErrImagePull: connection refused',
      retryInMs: 10_000,
    });
    expect(recorded()).toEqual([
      'Normal Pulling: Pulling image "app:1"',
      'Warning Failed: Failed to pull image "app:1": connection refused',
      'Normal BackOff: Back-off pulling image "app:1"',
    ]);
  });

  test('of one image does not hold up another one of the pod', async () => {
    runtime.injectError('pullImage', refused);
    await failure({ image: 'bad:1' });
    expect(await ensure({ image: 'good:1' })).toBe('good:1');
  });

  test('does not hold up an image that is there meanwhile', async () => {
    runtime.injectError('pullImage', refused);
    await failure({});
    runtime.addImage('app:1');
    expect(await ensure({ imagePullPolicy: 'IfNotPresent' })).toBe('app:1');
  });

  test.each(['RegistryUnavailable', 'SignatureValidationFailed'])(
    'that the runtime calls %s is called so',
    async (reason) => {
      runtime.injectError('pullImage', new Refusal(codes.unknown, `${reason}: more about it`));
      expect(await failure({})).toEqual({ text: `${reason}: ${reason}: more about it` });
    },
  );

  test('to look for the image is an ImageInspectError', async () => {
    runtime.injectError('imageStatus', refused);
    expect(await failure({})).toEqual({
      text: 'ImageInspectError: Failed to inspect image "app:1": connection refused',
    });
    expect(recorded()).toEqual(['Warning InspectFailed: Failed to inspect image "app:1": connection refused']);
  });

  test('to read the name is an InvalidImageName, and asks the runtime nothing', async () => {
    expect((await failure({ image: 'Not A Name' })).text).toMatch(
      /^InvalidImageName: Failed to apply default image tag "Not A Name": /,
    );
    expect(runtime.calls).toEqual([]);
  });

  test('to read the size of what was pulled is not a failure of the pull', async () => {
    runtime.injectError('imageStatus', refused, { when: ({ image }) => image?.image.startsWith('sha256:') === true });
    await ensure({ imagePullPolicy: 'Always' });
    expect(recorded().at(-1)).toBe(
      'Normal Pulled: Successfully pulled image "app:1" in 0s (0s including waiting). Image size: 0 bytes.',
    );
  });
});

describe('credentials', () => {
  const image = 'r.example/app:1';
  const refused = new Refusal(codes.unknown, '401 unauthorized');
  const usersAsked = (): (string | undefined)[] => runtime.requestsOf('pullImage').map(({ auth }) => auth?.username);
  const declare = (...secrets: ConfigObject[]): void => {
    configObjects.replace('test', secrets);
  };
  const dockerConfig = (name: string, text: string): ConfigObject =>
    makeSecret(name, { '.dockerconfigjson': text }, { type: 'kubernetes.io/dockerconfigjson' });

  beforeEach(() => {
    pod.spec.imagePullSecrets = [{ name: 'first' }, { name: '' }, { name: 'second' }];
    nodeCredentials = new Map([['r.example', { username: 'node', password: 'node-pw', identityToken: '' }]]);
  });
  afterEach(() => {
    delete pod.spec.imagePullSecrets;
  });

  test('of the pod are tried before those of the node, until one is taken', async () => {
    declare(
      dockerConfig('first', '{"auths": {"r.example": {"username": "ada", "password": "ada-pw"}}}'),
      makeSecret(
        'second',
        { '.dockercfg': '{"r.example/app": {"username": "bob"}}' },
        { type: 'kubernetes.io/dockercfg' },
      ),
    );
    runtime.injectError('pullImage', refused, { times: 2 });
    await ensure({ image });
    expect(usersAsked()).toEqual(['bob', 'ada', 'node']);
    expect(runtime.requestsOf('pullImage').at(-1)?.auth).toMatchObject({ username: 'node', password: 'node-pw' });
    expect(recorded()).toEqual([
      'Normal Pulling: Pulling image "r.example/app:1"',
      'Normal Pulled: Successfully pulled image "r.example/app:1" in 0s (0s including waiting). Image size: 1000000 bytes.',
    ]);
  });

  test('that are all refused fail with all that was said, once each', async () => {
    declare(dockerConfig('first', '{"auths": {"r.example": {"username": "ada"}}}'), dockerConfig('second', '{}'));
    runtime.injectError('pullImage', refused, { times: 2 });
    expect(await failure({ image })).toEqual({ text: 'ErrImagePull: 401 unauthorized' });
    await clock.advance(10_000);
    runtime.injectError('pullImage', refused);
    runtime.injectError('pullImage', new Refusal(codes.unknown, 'denied'));
    expect(await failure({ image })).toEqual({ text: 'ErrImagePull: [401 unauthorized, denied]' });
  });

  test('of the node are hidden', async () => {
    const login = { username: 'ada', password: 'ada-password', identityToken: 'token-of-ada' };
    nodeCredentials = new Map([['r.example', login]]);
    declare(dockerConfig('first', '{}'), dockerConfig('second', '{}'));
    await ensure({ image });
    const auth = Buffer.from('ada:ada-password').toString('base64');
    const hidden = secrets.hide(`ada-password token-of-ada ${auth}`);
    expect(hidden).toMatch(/^<hidden> <hidden> .{1,6}<hidden>.{0,4}$/);
  });

  test('that fit no image leave a pull without any', async () => {
    declare(dockerConfig('first', '{"auths": {"other.example": {"username": "ada"}}}'), makeSecret('second', {}));
    nodeCredentials = new Map();
    await ensure({ image });
    expect(runtime.requestsOf('pullImage').map(({ auth }) => auth)).toEqual([undefined]);
  });

  test('in Secrets that nobody declares are reported by name, and the pull continues', async () => {
    await ensure({ image });
    expect(usersAsked()).toEqual(['node']);
    expect(recorded()).toContain(
      'Warning FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (first, second); ' +
        'attempting to pull the image may not succeed.',
    );
  });

  test('in a Secret that is broken fail the pull, which tells nothing of them', async () => {
    declare(dockerConfig('first', '{"auths": {"r.example": {"auth": "c2VjcmV0"}}}'), dockerConfig('second', '{}'));
    expect(await failure({ image })).toEqual({
      text: 'ErrImagePull: image pull secret "first": .dockerconfigjson auths["r.example"].auth is not the base64 of user:password',
    });
    expect(usersAsked()).toEqual([]);
  });

  test('are in no event', async () => {
    declare(dockerConfig('first', '{"auths": {"r.example": {"username": "ada", "password": "ada-pw"}}}'));
    runtime.injectError('pullImage', refused, { times: Infinity });
    await failure({ image });
    expect(JSON.stringify(events.events)).not.toContain('-pw');
  });
});

describe('with records of pulls', () => {
  const image = 'r.example/app:1';
  const unauthorized = new Refusal(codes.unknown, '401 unauthorized');
  const policies = ['IfNotPresent', 'Never'] as const;
  const login = (password: string): ConfigObject =>
    makeSecret(
      'login',
      { '.dockerconfigjson': `{"auths": {"r.example": {"username": "ada", "password": "${password}"}}}` },
      { type: 'kubernetes.io/dockerconfigjson' },
    );

  let pullRecords: PullRecords;
  let rootDir: string;

  beforeEach(async () => {
    rootDir = await temporaryFolder();
    const verification = { policy: 'NeverVerifyPreloadedImages' as const, allowlist: [] };
    pullRecords = new PullRecords({ rootDir, verification, loadedImages: [], clock, logger: silentLogger });
    manager = makeManager(1, undefined, false, pullRecords);
    configObjects.replace('test', [login('ada-pw')]);
    runtime.injectError('pullImage', unauthorized, {
      times: Infinity,
      when: ({ auth }) => auth?.password !== 'ada-pw',
    });
  });
  afterEach(() => {
    delete pod.spec.imagePullSecrets;
  });

  async function pulledWithSecret(): Promise<void> {
    pod.spec.imagePullSecrets = [{ name: 'login' }];
    await ensure({ image, imagePullPolicy: 'IfNotPresent' });
    delete pod.spec.imagePullSecrets;
  }

  test.each(policies)('%s uses a preloaded image', async (imagePullPolicy) => {
    runtime.addImage(image);
    expect(await ensure({ image, imagePullPolicy })).toBe(image);
    expect(recorded()).toEqual([
      'Normal Pulled: Container image "r.example/app:1" already present on machine and can be accessed by the pod',
    ]);
  });

  test('a pod without the Secret that pulled an image must pull it, and its failure says why', async () => {
    await pulledWithSecret();
    expect(await failure({ image, imagePullPolicy: 'IfNotPresent' })).toEqual({
      text: 'ErrImagePull: 401 unauthorized',
    });
    expect(recorded().slice(-2)).toEqual([
      'Normal Pulling: Pulling image "r.example/app:1"',
      'Warning Failed: Failed to pull image "r.example/app:1": 401 unauthorized',
    ]);
    expect(events.events.at(-1)).toMatchObject({
      cause: 'imageCredentials',
      hint:
        'The image is on this node, but no credentials of this pod pulled it before: ' +
        'name a Secret for its registry in imagePullSecrets',
    });
  });

  test('with the policy Never it is as if the image were missing', async () => {
    await pulledWithSecret();
    expect(await failure({ image, imagePullPolicy: 'Never' })).toEqual({
      text: 'ErrImageNeverPull: Container image "r.example/app:1" is not present with pull policy of Never',
    });
    expect(pulls()).toHaveLength(1);
  });

  test.each(policies)('a pod with the Secret uses it without a pull (%s)', async (imagePullPolicy) => {
    await pulledWithSecret();
    pod.spec.imagePullSecrets = [{ name: 'login' }];
    await ensure({ image, imagePullPolicy });
    expect(pulls()).toHaveLength(1);
  });

  test('credentials of the node that pull it give it to every pod', async () => {
    await pulledWithSecret();
    nodeCredentials = new Map([['r.example', { username: 'node', password: 'ada-pw', identityToken: '' }]]);
    await ensure({ image, imagePullPolicy: 'IfNotPresent' });
    nodeCredentials = new Map();
    await ensure({ image, imagePullPolicy: 'IfNotPresent' });
    expect(pulls()).toHaveLength(2);
  });

  test('an image for a container that waits is pulled ahead only if the pod may not use it', async () => {
    await pulledWithSecret();
    const ahead = (): Promise<void> =>
      manager.prepull({
        pod,
        container: makeContainer({ image, imagePullPolicy: 'IfNotPresent' }),
        sandboxConfig: { metadata: { name: 'web' } },
        recorder: podEventRecorder(events.emit, pod),
        signal: new AbortController().signal,
      });
    await expect(ahead()).rejects.toThrow('401 unauthorized');
    pod.spec.imagePullSecrets = [{ name: 'login' }];
    await ahead();
    expect(pulls()).toHaveLength(2);
  });

  test('a pull that succeeds although its pod goes is recorded', async () => {
    pod.spec.imagePullSecrets = [{ name: 'login' }];
    const stopping = new AbortController();
    const release = runtime.hang('imageStatus', {
      when: ({ image: asked }) => asked?.image.startsWith('sha256:') === true,
    });
    const pulling = ensure({ image, imagePullPolicy: 'Always' }, stopping.signal);
    await runtime.waitForCall('imageStatus');
    stopping.abort(new Error('the pod goes'));
    await expect(pulling).rejects.toThrow('the pod goes');
    release();
    delete pod.spec.imagePullSecrets;
    expect((await failure({ image, imagePullPolicy: 'IfNotPresent' })).text).toBe('ErrImagePull: 401 unauthorized');
  });

  test('a pull that cannot be recorded fails and does not begin', async () => {
    await writeFile(join(rootDir, 'image_manager'), '');
    expect((await failure({ image })).text).toMatch(/^ErrImagePull: recording the pull failed: .*image_manager/);
    expect(pulls()).toEqual([]);
  });

  test('a node that is offline refuses an image that it cannot verify', async () => {
    await pulledWithSecret();
    manager = makeManager(1, undefined, true, pullRecords);
    expect(await failure({ image, imagePullPolicy: 'Always' })).toEqual({
      text:
        'ErrImageNeverPull: Container image "r.example/app:1" is present, ' +
        'but this node is offline and cannot verify that the pod may use it',
    });
    pod.spec.imagePullSecrets = [{ name: 'login' }];
    expect(await ensure({ image, imagePullPolicy: 'Always' })).toBe(image);
  });
});

describe('how far a pull has come', () => {
  const layer = (receivedBytes: number): LayerIngest => ({
    ref: 'k8s.io/1/layer-sha256:aa',
    receivedBytes,
    totalBytes: 10,
    changedAt: clock.now(),
  });
  const progress = (): object[] =>
    events.events.flatMap((event) =>
      event.type === 'PullProgressed' ? [{ container: event.containerName, received: event.receivedBytes }] : [],
    );

  beforeEach(() => {
    ingests = [];
    runtime.latency('pullImage', 5000);
  });

  test('is told each second that brought something, until it ends', async () => {
    const pulled = ensure({ name: 'app' });
    await runtime.waitForCall('pullImage');
    ingests = [layer(3)];
    await clock.advance(2000);
    expect(progress()).toEqual([{ container: 'app', received: 3 }]);
    expect(pullWatch.of('u1')).toEqual([{ container: 'app', image: 'app:1', receivedBytes: 3, totalBytes: 10 }]);
    expect(pullWatch.of('another')).toEqual([]);
    ingests = [layer(8)];
    await clock.advance(1000);
    expect(progress()).toEqual([
      { container: 'app', received: 3 },
      { container: 'app', received: 8 },
    ]);
    await clock.advance(2000);
    await pulled;
    expect(pullWatch.of('u1')).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  test('is dropped when it fails', async () => {
    runtime.injectError('pullImage', new Refusal(codes.unknown, 'denied'));
    const failed = failure({ name: 'app' });
    await runtime.waitForCall('pullImage');
    ingests = [layer(3)];
    await clock.advance(5000);
    await failed;
    expect(progress()).toEqual([{ container: 'app', received: 3 }]);
    expect(pullWatch.of('u1')).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  test('is the same for all that wait for the image', async () => {
    manager = makeManager(Infinity);
    const pulled = Promise.all([ensure({ name: 'one' }), ensure({ name: 'two' })]);
    await runtime.waitForCall('pullImage');
    await runtime.waitForCall('pullImage');
    ingests = [layer(3)];
    await clock.advance(1000);
    expect(progress()).toEqual([
      { container: 'one', received: 3 },
      { container: 'two', received: 3 },
    ]);
    await clock.advance(4000);
    await pulled;
  });

  test('is not told while several images are pulled: nobody says whose a layer is', async () => {
    manager = makeManager(Infinity);
    const pulled = Promise.all([ensure({ image: 'app:1' }), ensure({ image: 'app:2' })]);
    await runtime.waitForCall('pullImage');
    await runtime.waitForCall('pullImage');
    ingests = [layer(3)];
    await clock.advance(4000);
    expect(progress()).toEqual([]);
    expect(pullWatch.of('u1')).toEqual([]);
    await clock.advance(1000);
    await pulled;
  });

  test('costs nothing where it cannot be told', async () => {
    ingests = undefined;
    const pulled = ensure({ name: 'app' });
    await runtime.waitForCall('pullImage');
    await clock.advance(0);
    expect(clock.pending).toBe(1);
    await clock.advance(5000);
    await pulled;
  });
});

describe('offline', () => {
  beforeEach(() => {
    manager = makeManager(1, undefined, true);
  });

  test('a present image is used, even with the policy Always', async () => {
    runtime.addImage('app:1');
    expect(await ensure({ imagePullPolicy: 'Always' })).toEqual(await ensure({ imagePullPolicy: 'IfNotPresent' }));
    expect(runtime.requestsOf('pullImage')).toEqual([]);
  });

  test.each(['Always', 'IfNotPresent', 'Never'] as const)('a missing image is never pulled (%s)', async (policy) => {
    await expect(ensure({ imagePullPolicy: policy })).rejects.toMatchObject({
      reason: 'ErrImageNeverPull',
      message: expect.stringMatching(/^Container image "app:1" is not present, and this node is offline/) as string,
    });
    expect(runtime.requestsOf('pullImage')).toEqual([]);
  });

  test('the message names all missing images of the pod', async () => {
    runtime.addImage('here:1');
    const containers = ['app:1', 'here:1', 'init:1'].map((image) => makeContainer({ name: image.slice(0, -2), image }));
    const request = {
      pod: makePod({ spec: { containers } }),
      container: makeContainer({ image: 'app:1' }),
      sandboxConfig: { metadata: { name: 'web' } },
      recorder: podEventRecorder(events.emit, pod),
      signal: new AbortController().signal,
    };
    const message = 'Container image "app:1" is not present, and this node is offline. The pod also lacks: init:1';
    await expect(manager.prepull(request)).rejects.toMatchObject({ reason: 'ErrImageNeverPull', message });
  });
});
