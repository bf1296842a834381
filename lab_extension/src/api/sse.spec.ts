import { expect, it } from 'vitest';
import { EventParser } from './sse';

it('events are whole however the bytes are cut', () => {
  const text = ': keep-alive\n\nid: 7\nevent: task.state\ndata: {"a":\ndata: 1}\n\nid: 8\r\ndata:x\r\n\r\n';
  const whole = [
    { id: '7', event: 'task.state', data: '{"a":\n1}' },
    { id: '8', event: 'message', data: 'x' }
  ];
  for (let size = 1; size <= text.length; size++) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < text.length; at += size) {
      events.push(...parser.push(text.slice(at, at + size)));
    }
    expect(events).toEqual(whole);
  }
});

it('an event without an id keeps the last one, and an unfinished event is not given', () => {
  const parser = new EventParser();
  expect(parser.push('id: 3\ndata: a\n\ndata: b\n\ndata: c\n')).toEqual([
    { id: '3', event: 'message', data: 'a' },
    { id: '3', event: 'message', data: 'b' }
  ]);
});

it('an event of a kind without data is given', () => {
  expect(new EventParser().push('event: end\n\n')).toEqual([{ id: '', event: 'end', data: '' }]);
});
