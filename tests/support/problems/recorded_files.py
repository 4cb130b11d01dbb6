"""Small recorded files that make sense, as the benchmarks read them."""

import json

RATES = """model,window_start_s,rate_rps,var_proxy_rate_cv2,mean_output_tokens
m,0,5,1.5,100
m,600,6,,120
m,1200,0,,
m,1800,7,1.5,
"""
POWER = json.dumps(
    {
        "configurations": [
            {
                "model_id": "llama",
                "gpu_model": "H100",
                "num_gpus": 2,
                "median_itl_ms": 20.5,
                "avg_power_watts": 500 + place,
                "output_throughput_tokens_per_sec": 1000 * place,
            }
            for place in (1, 2, 3, 4)
        ]
    }
)
PROFILES = """model,gpu,num_users,n_requests,n_ok,throughput_req_s,median_ttft_ms,\
median_nttft_ms_per_input_tok,median_itl_ms,mean_input_tokens,mean_output_tokens,price_usd_per_hour
small,1 x T4,1,99,99,2.5,200,2.0,10,100,9,0.2
small,1 x T4,4,99,99,3.5,300,2.0,20,100,9,0.2
small,2 x T4,8,,,,,150,,,,0.4
"""
PRICES = "GPU,price\n1 x T4,0.3\n2 x T4,0.5\n"
SUPPLY = "gpu,count\nT4,8\nA100,0\n"
AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,40,10
2023-11-16 18:17:04.9799600,50,10
"""
MOONCAKE = "timestamp_ms,input_tokens,output_tokens\n0,40,0\n900,50,1\n"
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn-0,64000,262144,4,T4\nn-1,64000,262144,0,T4\n"
PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
p-0,2000,1024,1,470,T4|G2
p-1,2000,1024,2,1000,
p-2,2000,1024,0,0,
"""
ORDER = "node\nn-1\nn-0\n"
ARRIVALS = "base_pod\np-1\np-1\n"
INSTANCES = json.dumps(
    [{"gpus": 1, "gpu_mem_gb": 80, "models": [{"size_gb": 24, "req_rate": 8, "slo": 9}]}]
)
SERIES = json.dumps({"metadata": {"gap_seconds": 600}, "data": [1, 0, 1]})
WINDOWS = "start_tick,end_tick,in_adrs_stage2_set\n0,3,1\n1,2,0\n"
