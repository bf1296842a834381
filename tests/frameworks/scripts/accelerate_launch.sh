#!/bin/bash
# Accelerate over the nodes of a task; no shell reads the words after `hai submit --`, so the variables need this one.
exec accelerate launch --cpu --num_machines "$HAI_NODES" --num_processes "$HAI_NODES" --machine_rank "$HAI_RANK" \
  --main_process_ip "$MASTER_ADDR" --main_process_port "$MASTER_PORT" --mixed_precision no --dynamo_backend no "$@"
