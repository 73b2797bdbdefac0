import { OutgoingText } from '../../src/engine/outgoing/outgoing-text.ts';
import { SecretValues } from '../../src/engine/outgoing/secret-values.ts';

/** Where there is nothing to hide. */
export const plainOutgoing = new OutgoingText({ secrets: new SecretValues() });
